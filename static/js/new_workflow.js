// The page of a new workflow: the suggested name follows the type, until somebody edits it.

const form = document.querySelector(".new-workflow");
const field = form.elements.name;
const names = { "advanced-chat": field.dataset.nameAdvancedChat, workflow: field.dataset.nameWorkflow };

form.addEventListener("change", ({ target }) => {
  if (target.name === "mode" && Object.values(names).includes(field.value)) field.value = names[target.value];
});
