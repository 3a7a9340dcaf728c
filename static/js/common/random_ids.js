// Ids of what this page makes.

export function createRandomId() {
  const bytes = crypto.getRandomValues(new Uint8Array(12)); // randomUUID needs https
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
