// npm's dify-client.
import { ChatClient, CompletionClient, DifyClient } from "dify-client";
import { check, Row } from "./table.mjs";

const { url, chat, flow } = JSON.parse(process.argv[2]);
const row = new Row();
const person = "node";
const talk = new ChatClient(chat, url);
const work = new CompletionClient(flow, url);
const plain = new DifyClient(chat, url);

async function readEvents(response) {
  let text = "";
  for await (const chunk of response.data) text += chunk.toString();
  return text.split("\n\n").filter((frame) => frame.startsWith("data: ")).map((frame) => JSON.parse(frame.slice(6)));
}

const first = (await row.call("chat, blocking", async () => (await talk.createChatMessage({}, "tea?", person)).data)) ?? {};
const key = first.conversation_id;
await row.call("chat, streaming", async () => {
  const events = await readEvents(await talk.createChatMessage({}, "more", person, true, key));
  check(events.filter((each) => each.event === "message").map((each) => each.answer).join("") === "You said more", events);
  check(events.at(-1).event === "workflow_finished", events.at(-1));
});
await row.call("workflow, blocking", async () => {
  const { data } = await work.runWorkflow({ name: "Ana" }, person);
  check(data.data.outputs.text === "Ana", data);
});
await row.call("workflow, streaming", async () => {
  const events = await readEvents(await work.runWorkflow({ name: "Ana" }, person, true));
  check(events.at(-1).data.status === "succeeded", events.at(-1));
});
await row.call("completion, blocking", async () => {
  const { data } = await work.createCompletionMessage({ name: "Ana" }, person);
  check(data.answer === "Ana", data);
});
await row.call("completion, streaming", async () => {
  const events = await readEvents(await work.createCompletionMessage({ name: "Ana" }, person, true));
  check(events.at(-1).event === "message_end", events.at(-1));
});
await row.call("list conversations", async () => check((await talk.getConversations(person)).data.data[0].id === key));
await row.call("list messages", async () => check((await talk.getConversationMessages(person, key)).data.data.length === 2));
await row.call("rename conversation", async () =>
  check((await talk.renameConversation(key, "Tea", person, false)).data.name === "Tea"));
await row.call("give feedback", async () =>
  check((await plain.messageFeedback(first.message_id, "like", person)).data.result === "success"));
await row.call("get parameters", async () => check((await plain.getApplicationParameters(person)).data.user_input_form));
await row.call("upload file", async () => {
  const form = new FormData();
  form.append("file", new Blob(["Tea."], { type: "text/plain" }), "note.txt");
  form.append("user", person);
  const response = await plain.fileUpload(form);
  check(response.status === 201 && response.data.id, response.data);
});
await row.call("delete conversation", async () => check((await talk.deleteConversation(key, person)).status === 204));
console.log(JSON.stringify(row.outcomes));
