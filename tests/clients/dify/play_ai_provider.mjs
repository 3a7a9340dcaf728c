// npm's dify-ai-provider, for the Vercel AI SDK: called as the SDK calls a model.
import { createDifyProvider } from "dify-ai-provider";
import { check, Row } from "./table.mjs";

const { url, chat } = JSON.parse(process.argv[2]);
const row = new Row();
const provider = createDifyProvider({ baseURL: url });
const headers = { "user-id": "ai-sdk" };

function ask(text) {
  return { prompt: [{ role: "user", content: [{ type: "text", text }] }], headers };
}

await row.call("chat, blocking", async () => {
  const model = provider("app", { apiKey: chat, responseMode: "blocking" });
  const answer = await model.doGenerate(ask("tea?"));
  check(answer.content.some((part) => part.text === "You said tea?"), answer.content);
  check(answer.providerMetadata.difyWorkflowData.conversationId, answer.providerMetadata);
});
await row.call("chat, streaming", async () => {
  const model = provider("app", { apiKey: chat, responseMode: "streaming" });
  const { stream } = await model.doStream(ask("more"));
  const parts = [];
  for await (const part of stream) parts.push(part);
  check(!parts.some((part) => part.type === "error"), parts);
  check(parts.filter((part) => part.type === "text-delta").map((part) => part.delta).join("") === "You said more", parts);
});
console.log(JSON.stringify(row.outcomes));
