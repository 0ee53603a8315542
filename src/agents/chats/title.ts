/** The title of a chat that nobody has named, and in which nothing was said. */
export const DEFAULT_TITLE = 'New Chat';

/** Whether its first message names it. */
export const isUnnamed = (chat: { title: string; last_message_at: unknown }): boolean =>
  chat.title === DEFAULT_TITLE && chat.last_message_at === null;

const MAX_TITLE = 80;
/** Marks of Markdown at the beginning of a line. */
const MARKS = /^(?:#{1,6}|>|[-*+]|\d+[.)])\s+/;

/** A title for what begins with this text: its first line that has words, without marks, cut between words where it is long. */
export function titleOf(text: string): string {
  const lines = text
    .slice(0, 10_000)
    .toWellFormed()
    .split(/[\r\n\u2028\u2029]+/);
  const [title = DEFAULT_TITLE] = lines.map(plain).filter(line => /[\p{L}\p{N}]/u.test(line));
  if (title.length <= MAX_TITLE) return title;
  const cut = title.slice(0, MAX_TITLE - 1);
  const words = cut.replace(/\s+\S*$/, '');
  // A word that takes half of it is cut itself, and no character in the middle.
  return `${(words.length > MAX_TITLE / 2 ? words : cut).replace(/[\ud800-\udbff]$/, '')}…`;
}

const plain = (line: string): string =>
  line
    .replace(/\p{C}/gu, ' ')
    .trim()
    .replace(MARKS, '')
    .replace(/\*\*|__|`/g, '')
    .replace(/\s+/g, ' ')
    .trim();
