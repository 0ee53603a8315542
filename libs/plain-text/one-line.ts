/** Control characters, line and paragraph separators, and characters that override the direction of text around them. */
const UNSEEN = String.raw`\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069`;

/** Text of one line, which may be empty. */
export const ONE_LINE = new RegExp(`^[^${UNSEEN}]*$`);

/** As {@link ONE_LINE}, with something to see. */
export const VISIBLE_LINE = new RegExp(`^[^${UNSEEN}]*[^\\s${UNSEEN}][^${UNSEEN}]*$`);
