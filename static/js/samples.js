// The search field of the samples: cards that don't have all its words are hidden. Without scripts all samples are shown.

const field = document.getElementById("samples-words");
const found = document.getElementById("samples-found");
const none = document.getElementById("samples-none");
const cards = [...found.querySelectorAll("article")].map((card) => ({ card, text: normalize(card.textContent) }));

field.closest("[hidden]").hidden = false;
field.addEventListener("input", filterCards);
filterCards(); // The browser keeps the words of a page that is gone back to.

function normalize(text) {
  return text.normalize("NFKC").toLowerCase();
}

function filterCards() {
  const words = normalize(field.value).split(/\s+/).filter(Boolean);
  for (const { card, text } of cards) card.hidden = !words.every((word) => text.includes(word));
  for (const title of found.querySelectorAll("[data-samples-title]")) {
    title.hidden = !title.nextElementSibling.querySelector("article:not([hidden])");
  }
  none.hidden = cards.some(({ card }) => !card.hidden);
}
