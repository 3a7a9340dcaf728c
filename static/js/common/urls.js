// The server renders one address for all runs or memories, with an id of zeros as the placeholder.

const PLACEHOLDER_ID = "00000000-0000-0000-0000-000000000000";

export const buildAddress = (address, id) => address.replace(PLACEHOLDER_ID, id);
