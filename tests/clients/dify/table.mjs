// Fills the row of one client, as table.py does.
export class Row {
  outcomes = {};

  async call(method, work) {
    try {
      const value = await work();
      this.outcomes[method] = "ok";
      return value;
    } catch (error) {
      const answer = error.response?.data ? JSON.stringify(error.response.data) : "";
      this.outcomes[method] = `${error.name}: ${error.message} ${answer}`.slice(0, 300);
      return undefined;
    }
  }
}

export function check(condition, message = "") {
  if (!condition) throw new Error(JSON.stringify(message) ?? "not as expected");
}
