// Files that are to be imported: one as it is, several together, and those that can only be something else than workflows.

export const LARGEST = 1_048_576; // bytes of a document

const WORKFLOW = /\.(ya?ml|json)$/i;
const SECTION = /^\s*["']?(app|workflow|nodes|kind|model_config)["']?\s*:/m;

/** Whether a text may be a workflow: by the name of its file, or by its sections. */
export const mayBeWorkflow = (name, text) => !text.includes("\u0000") && (WORKFLOW.test(name) || SECTION.test(text));

/** Send files through the form of the import page. Of files that are too large for workflows, only the names are sent. */
export function importFiles(form, files) {
  const large = [...files].filter((file) => file.size > LARGEST);
  if (files.length === 1 && large.length) return location.assign(otherFileUrl(form.action, files[0].name));
  const small = new DataTransfer();
  for (const file of files) if (file.size <= LARGEST) small.items.add(file);
  form.querySelector("input[type=file]").files = small.files;
  for (const { name } of large) {
    form.append(Object.assign(document.createElement("input"), { type: "hidden", name: "too_large", value: name }));
  }
  form.submit();
}

/** The address of the sentence on a file that is no workflow. */
export function otherFileUrl(action, name) {
  const url = new URL(action, location.href);
  url.searchParams.set("other", name);
  return url.href;
}
