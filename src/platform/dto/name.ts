import { ONE_LINE, VISIBLE_LINE } from '#libs/plain-text/index.js';

/** Rules of a title, which may be empty. */
export const LINE = {
  pattern: ONE_LINE,
  patternHint: 'must be one line without control characters and others that are not seen',
};

/** Rules of every name that a person gives: names go into mails, headers, lists and logs. */
export const NAME = {
  min: 1,
  max: 120,
  pattern: VISIBLE_LINE,
  patternHint:
    'must not be blank, and must be one line without control characters and others that are not seen',
};
