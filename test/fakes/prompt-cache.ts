import type { FakeReply, FakeRequest } from './scripted-server.js';

type Wire = Record<string, unknown>;
const list = (value: unknown): Wire[] => (Array.isArray(value) ? value : []);
/** A token is about four bytes. */
const tokensOf = (text: string): number => Math.ceil(Buffer.byteLength(text) / 4);

/** Anthropic keeps nothing shorter, marks at most four places, and looks that many blocks back from each. */
const MIN_TOKENS = 1_024;
const MAX_MARKS = 4;
const LOOKBACK = 20;

/**
 * Counts as Anthropic does: what is read from its cache is the longest beginning that was kept at a mark of an earlier request and
 * lies within 20 blocks of a mark of this one. https://platform.claude.com/docs/en/build-with-claude/prompt-caching
 */
export class AnthropicCache {
  private readonly kept = new Set<string>();

  /** The reply with the counts of its request; refused where it has too many marks. */
  counted({ body }: FakeRequest, reply: FakeReply): FakeReply {
    const messages = list(body.messages).flatMap(({ role, content }) =>
      list(content).map(block => ({ role, ...block })),
    );
    const blocks = [...list(body.tools), ...list(body.system), ...messages] as Wire[];
    const marks = blocks.flatMap((block, index) => (block.cache_control ? [index] : []));
    if (body.cache_control) marks.push(blocks.length - 1);
    if (marks.length > MAX_MARKS) return { status: 400, body: refusal(marks.length) };
    let soFar = '';
    const prefixes = blocks.map(({ cache_control: _, ...block }) => {
      soFar += JSON.stringify(block);
      return soFar;
    });
    const sizes = prefixes.map(tokensOf);
    const found = marks.flatMap(mark =>
      Array.from({ length: LOOKBACK }, (_, back) => mark - back).filter(at =>
        this.kept.has(prefixes[at] ?? ''),
      ),
    );
    for (const mark of marks) if ((sizes[mark] ?? 0) >= MIN_TOKENS) this.kept.add(prefixes[mark] ?? '');
    const cacheRead = Math.max(0, ...found.map(at => sizes[at] ?? 0));
    const marked = Math.max(0, ...marks.map(at => sizes[at] ?? 0));
    const usage = {
      input: sizes.at(-1) ?? 0,
      cacheRead,
      cacheWrite: Math.max(0, marked - cacheRead),
      output: 20,
    };
    return { ...reply, usage };
  }
}

const refusal = (marks: number) => ({
  type: 'error',
  error: {
    type: 'invalid_request_error',
    message: `A maximum of 4 blocks with cache_control may be provided. Found ${marks}.`,
  },
});

/** OpenAI finds the longest beginning by itself, from 1024 tokens on in steps of 128; servers that speak its protocol do alike. */
export class PrefixCache {
  private readonly seen: string[] = [];

  counted({ body }: FakeRequest, reply: FakeReply): FakeReply {
    const text = [...list(body.tools), body.instructions ?? '', ...list(body.messages ?? body.input)]
      .map(part => JSON.stringify(part))
      .join('');
    const same = Math.max(0, ...this.seen.map(before => commonLength(before, text)));
    this.seen.push(text);
    const read = tokensOf(text.slice(0, same));
    const cacheRead = read < MIN_TOKENS ? 0 : read - (read % 128);
    return { ...reply, usage: { input: tokensOf(text), cacheRead, output: 20 } };
  }
}

function commonLength(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  return at;
}
