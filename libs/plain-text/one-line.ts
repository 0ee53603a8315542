/**
 * Control characters, line and paragraph separators, characters that override the direction of text around them, and those
 * that are never seen and belong to no word: with one of them a name passes for another.
 */
const UNSEEN = String.raw`\u0000-\u001f\u007f-\u009f\u00ad\u034f\u115f\u1160\u17b4\u17b5\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb`;
/** Blanks, joiners, marks of direction and selectors of variants, which belong to words and emoji but show nothing alone. */
const BLANK = String.raw`\s\u061c\u180b-\u180f\u200b-\u200f\u2800\ufe00-\ufe0f`;
/** A sign to see: also one of two units, but for the tags and selectors at U+E0000. */
const SEEN = String.raw`(?:[^${BLANK}${UNSEEN}\ud800-\udfff]|[\ud800-\udb3f\udb41-\udbff][\udc00-\udfff])`;

/** Text of one line, which may be empty. */
export const ONE_LINE = new RegExp(`^[^${UNSEEN}]*$`);

/** As {@link ONE_LINE}, with something to see. */
export const VISIBLE_LINE = new RegExp(`^[^${UNSEEN}]*${SEEN}[^${UNSEEN}]*$`);
