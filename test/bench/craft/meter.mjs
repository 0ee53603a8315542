/** Tokens by one estimate for all: a token is about four characters of English or code. */
const tokensOf = text => Math.ceil(text.length / 4);
/** What tokens cost beside one of fresh input, as most providers have it: one that is in their cache, and one that they write. */
const CACHED = 0.1;
const WRITTEN = 5;

/** What a run sends to its model, and gets from it. */
export class Meter {
  steps = 0;
  calls = 0;
  /** All input, each request in full. */
  sent = 0;
  /** Of it, the descriptions of tools, and the instructions. */
  tools = 0;
  prompt = 0;
  /** Of it, what the request before did not have. */
  fresh = 0;
  written = 0;
  /** Of the results of tools, in bytes. */
  bytes = 0;
  /** For a transcript. */
  log = [];
  #before = '';

  asked({ tools, messages }) {
    const text = [...(tools ?? []), ...messages].map(part => JSON.stringify(part)).join('');
    const isFirst = this.#before === '';
    let same = 0;
    while (same < text.length && text[same] === this.#before[same]) same += 1;
    // What comes before the task is the same in all runs of an organization, and in the cache.
    const known = isFirst ? text.length - JSON.stringify(messages.at(-1)).length : same;
    this.#before = text;
    this.steps += 1;
    this.last = tokensOf(text);
    this.sent += this.last;
    this.tools += tokensOf((tools ?? []).map(tool => JSON.stringify(tool)).join(''));
    this.prompt += tokensOf(JSON.stringify(messages[0]));
    this.fresh += tokensOf(text.slice(known));
    const answered = messages.findLastIndex(({ role }) => role === 'assistant');
    for (const { role, content } of messages.slice(answered + 1))
      if (role === 'tool') {
        this.bytes += Buffer.byteLength(content);
        this.log.push({ result: content });
      }
  }

  answered({ calls = [], text = '' }) {
    this.calls += calls.length;
    this.lastWritten = tokensOf(text + calls.map(({ tool, input }) => tool + JSON.stringify(input)).join(''));
    this.written += this.lastWritten;
    if (text) this.log.push({ text });
    for (const { tool, input } of calls) this.log.push({ tool, input });
  }

  /** What is new to the provider: input that its cache has not, and output. */
  get tokens() {
    return this.fresh + this.written;
  }

  /** What the run costs, in tokens of fresh input. */
  get cost() {
    return Math.round(this.fresh + CACHED * (this.sent - this.fresh) + WRITTEN * this.written);
  }

  get usage() {
    return {
      prompt_tokens: this.last,
      completion_tokens: this.lastWritten,
      total_tokens: this.last + this.lastWritten,
    };
  }
}
