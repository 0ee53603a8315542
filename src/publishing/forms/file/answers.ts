import { LRUCache } from 'lru-cache';
import { RE2JS } from 're2js';
import { type ExactNumber, exactNumber } from '#libs/exact-json/index.js';
import { isMailAddress, storableText } from '#libs/fields/index.js';
import { type FormDefinition, type FormField, LIMITS } from './form-definition.js';
import { DATE, TIME } from './form-fields.js';

/** What a field was answered with; files are beside. */
export type Answer = string | number | ExactNumber | boolean | string[];
export type Answers = Record<string, Answer>;

/** Texts as they were sent, by field. */
export type Raw = ReadonlyMap<string, readonly string[]>;

export interface Mistake {
  readonly id: string;
  /** A sentence without its full stop, as it goes on after the label and a colon. */
  readonly message: string;
}

export interface Checked {
  readonly answers: Answers;
  readonly mistakes: readonly Mistake[];
  /** Ids of the fields that were asked. */
  readonly shown: ReadonlySet<string>;
}

const MAX_EMAIL = 254;
const MAX_URL = 2000;
const PHONE = /^\+?[\d ().\-/]{3,30}$/;
const NUMBER = /^[+-]?(\d{1,30}(\.\d{0,30})?|\.\d{1,30})(e[+-]?\d{1,3})?$/i;

/** What was sent, as what each field takes. Fields that the form does not have, or does not show to who answers so, are left out. `files`: how many came, by field. */
export function checkAnswers(
  definition: FormDefinition,
  raw: Raw,
  files: ReadonlyMap<string, number>,
): Checked {
  const answers: Answers = {};
  const mistakes: Mistake[] = [];
  const sent = (id: string) =>
    (raw.get(id) ?? []).map(text => storableText(text).trim()).filter(text => text !== '');
  const shown = shownFields(definition, sent);
  for (const field of shown) {
    const result = check(field, sent(field.id), files.get(field.id) ?? 0);
    if (typeof result === 'object' && 'mistake' in result)
      mistakes.push({ id: field.id, message: result.mistake });
    else if (result !== undefined) answers[field.id] = result;
  }
  return { answers, mistakes, shown: new Set(shown.map(({ id }) => id)) };
}

type Result = Answer | { mistake: string } | undefined;
const wrong = (what: string) => ({ mistake: `this ${what}` });

function check(field: FormField, sent: string[], files: number): Result {
  const { type, required } = field;
  if (type === 'heading') return undefined;
  if (type === 'file') return checkFiles(field, files);
  if (type === 'checkbox') {
    const isTicked = sent.some(text => text !== 'false');
    return required && !isTicked ? wrong('has to be ticked') : isTicked;
  }
  if (type === 'choices') return checkChoices(field, sent);
  const [text = ''] = sent;
  if (text !== '') return CHECKS[type](text, field);
  return required
    ? wrong(type === 'choice' || type === 'rating' ? 'has to be chosen' : 'has to be filled in')
    : undefined;
}

function checkFiles({ required, maxFiles }: FormField, files: number): Result {
  if (files > maxFiles) return wrong(`takes ${maxFiles === 1 ? 'one file' : `at most ${maxFiles} files`}`);
  return required && files === 0 ? wrong('needs a file') : undefined;
}

function checkChoices({ options, required, min, max }: FormField, sent: string[]): Result {
  const chosen = new Set(sent);
  const known = options.map(({ id }) => id).filter(id => chosen.has(id));
  if (known.length < chosen.size) return wrong('has a choice that the form does not offer');
  if (known.length === 0) return required ? wrong('has to be chosen') : undefined;
  const least = Number(min ?? 0);
  if (known.length < least) return wrong(`takes at least ${least} choices`);
  const most = Number(max ?? options.length);
  return known.length > most ? wrong(`takes at most ${most} choices`) : known;
}

type Single = Exclude<FormField['type'], 'heading' | 'file' | 'checkbox' | 'choices'>;

const CHECKS: Record<Single, (text: string, field: FormField) => Result> = {
  text: (text, field) => {
    const mistake = checkLength(text, field, LIMITS.text);
    if (mistake) return mistake;
    const line = text.replace(/[\r\n]+/g, ' ');
    const { pattern, patternMessage } = field;
    return pattern !== undefined && !compiled(pattern).matches(line)
      ? patternMessage !== undefined
        ? { mistake: patternMessage }
        : wrong('is not written as it should be')
      : line;
  },
  textarea: (text, field) => checkLength(text, field, LIMITS.textarea) ?? text.replaceAll('\r\n', '\n'),
  email: text =>
    text.length <= MAX_EMAIL && isMailAddress(text)
      ? text
      : wrong('must be an e-mail address like name@example.com'),
  phone: text =>
    PHONE.test(text) && text.replace(/\D/g, '').length >= 3
      ? text
      : wrong('must be a telephone number like +44 20 7946 0958'),
  url: text => (isWebAddress(text) ? text : wrong('must be an address that begins with https:// or http://')),
  number: (text, field) => {
    const plain = text.replace(',', '.');
    const value = Number(plain);
    if (!NUMBER.test(plain) || !Number.isFinite(value)) return wrong('must be a number');
    const checked = within(value, field);
    return checked === value ? exactNumber(plain, value) : checked;
  },
  date: (text, field) =>
    DATE.test(text) && !Number.isNaN(Date.parse(text)) && new Date(text).toISOString().startsWith(text)
      ? within(text, field)
      : wrong('must be a date like 2026-12-24'),
  time: (text, field) =>
    TIME.test(text.slice(0, 5)) && /^\d\d:\d\d(:\d\d)?$/.test(text)
      ? within(text.slice(0, 5), field)
      : wrong('must be a time like 09:30'),
  choice: (text, { options }) =>
    options.some(({ id }) => id === text) ? text : wrong('has a choice that the form does not offer'),
  rating: (text, field) => (/^\d{1,2}$/.test(text) ? within(Number(text), field) : wrong('must be a number')),
};

const charactersOf = (text: string) => [...text.replaceAll('\r\n', '\n')].length;

function checkLength(text: string, { min, max }: FormField, most: number): { mistake: string } | undefined {
  const longest = Number(max ?? most);
  if (text.length > 2 * most || charactersOf(text) > longest)
    return wrong(`may have at most ${longest} characters`);
  const least = Number(min ?? 0);
  return charactersOf(text) < least ? wrong(`needs at least ${least} characters`) : undefined;
}

function within<T extends string | number>(value: T, { min, max }: FormField): Result {
  if (min !== undefined && value < min)
    return wrong(`may not be ${typeof value === 'number' ? 'less' : 'earlier'} than ${min}`);
  if (max !== undefined && value > max)
    return wrong(`may not be ${typeof value === 'number' ? 'more' : 'later'} than ${max}`);
  return value;
}

function isWebAddress(text: string): boolean {
  const url = text.length <= MAX_URL ? URL.parse(text) : null;
  return url?.protocol === 'https:' || url?.protocol === 'http:';
}

const patterns = new LRUCache<string, RE2JS>({ max: 500 });

function compiled(pattern: string): RE2JS {
  const known = patterns.get(pattern);
  if (known) return known;
  const made = RE2JS.compile(pattern);
  patterns.set(pattern, made);
  return made;
}

/** The fields that are shown to who has answered so. One that depends on a field that is not shown is not shown either. */
export function shownFields(
  { fields }: Pick<FormDefinition, 'fields'>,
  valuesOf: (id: string) => readonly string[],
): FormField[] {
  const shown = new Map<string, FormField>();
  for (const field of fields) {
    const { showIf } = field;
    const asked = showIf && shown.get(showIf.field);
    if (!showIf || (asked && holds(showIf.is, answered(asked, valuesOf(asked.id)))))
      shown.set(field.id, field);
  }
  return [...shown.values()];
}

const holds = (is: readonly string[] | null, answers: readonly string[]): boolean =>
  is === null ? answers.some(one => one !== 'false') : answers.some(one => is.includes(one));

/** A checkbox that is not ticked sends nothing. */
function answered({ type }: FormField, values: readonly string[]): readonly string[] {
  if (type === 'checkbox') return [String(values.some(value => value !== 'false'))];
  return type === 'choices' ? values : values.slice(0, 1);
}
