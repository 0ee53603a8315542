import { RE2JS } from 're2js';
import type { YamlMapping } from '../../../workspaces/yaml-files/index.js';
import { readCondition } from './form-conditions.js';
import { FIELD_TYPES, type FieldType, type FormField, type FormOption, LIMITS } from './form-definition.js';

const KEYS = ['id', 'label', 'type', 'required', 'help', 'show_if'];
const MORE_KEYS: Record<FieldType, readonly string[]> = {
  text: ['min', 'max', 'pattern', 'pattern_message', 'placeholder'],
  textarea: ['min', 'max', 'placeholder'],
  email: ['placeholder'],
  phone: ['placeholder'],
  url: ['placeholder'],
  number: ['min', 'max', 'placeholder'],
  date: ['min', 'max'],
  time: ['min', 'max'],
  choice: ['options'],
  choices: ['options', 'min', 'max'],
  checkbox: [],
  rating: ['max'],
  file: ['accept', 'max_files'],
  heading: [],
};
const ALL_KEYS = [...new Set([...KEYS, ...Object.values(MORE_KEYS).flat()])];

const ID = /^[a-z][a-z0-9_]{0,39}$/;
/** Columns of every file for responses. */
export const OWN_COLUMNS: readonly string[] = ['submission_id', 'submitted_at'];
export const DATE = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/;
export const TIME = /^([01]\d|2[0-3]):[0-5]\d$/;

/** Reads the fields of a form; those with mistakes are in the findings, and may be missing or half. */
export function readFields(file: YamlMapping): FormField[] {
  if (!file.has('fields')) {
    file.findings.error('fields is missing', null, 'List at least one field: id, label and type');
    return [];
  }
  const fields: FormField[] = [];
  for (const one of file.mappings('fields', LIMITS.fields)) fields.push(readField(one, fields));
  requireUnique(file, fields);
  if (fields.every(({ type }) => type === 'heading')) file.error('fields', 'has nothing to fill in');
  const options = fields.reduce((sum, field) => sum + field.options.length, 0);
  if (options > LIMITS.allOptions)
    file.error('fields', `have ${options} options together; at most ${LIMITS.allOptions} are shown`);
  if (fields.filter(({ pattern }) => pattern !== undefined).length > LIMITS.patterns)
    file.error('fields', `may have at most ${LIMITS.patterns} patterns together`);
  if (fields.filter(({ showIf }) => showIf !== undefined).length > LIMITS.conditions)
    file.error('fields', `may have show_if in at most ${LIMITS.conditions} of them`);
  return fields;
}

function requireUnique(file: YamlMapping, fields: readonly FormField[]): void {
  const seen = new Set<string>();
  for (const { id } of fields) {
    if (seen.has(id))
      file.error('fields', `has two fields with the id "${id}"`, 'Give one of them another id');
    seen.add(id);
  }
}

function readField(field: YamlMapping, before: readonly FormField[]): FormField {
  field.expect(ALL_KEYS);
  const type = field.choice('type', FIELD_TYPES) ?? 'text';
  if (!field.has('type'))
    field.findings.error('A field has no type', field.lineOf(), `There are ${FIELD_TYPES.join(', ')}`);
  else
    for (const key of ALL_KEYS)
      if (field.has(key) && !KEYS.includes(key) && !MORE_KEYS[type].includes(key))
        field.error(key, `has no meaning for the type ${type}`);
  const label = field.text('label', 500) ?? '';
  if (label === '')
    field.findings.error('A field has no label', field.lineOf(), 'It is what people read: label: Your name');
  return {
    id: readId(field),
    label,
    type,
    required: field.boolean('required') ?? false,
    ...readBounds(field, type),
    ...readPattern(field, type),
    showIf: readCondition(field, before),
    options: readOptions(field, type),
    accept: type === 'file' ? readAccept(field) : [],
    maxFiles: (type === 'file' && field.integer('max_files', 1, LIMITS.files)) || 1,
    help: field.text('help', 1000) ?? '',
    placeholder: field.text('placeholder', 200) ?? '',
  };
}

function readId(field: YamlMapping): string {
  const id = field.text('id', 100) ?? '';
  if (id === '')
    field.findings.error(
      'A field has no id',
      field.lineOf(),
      'It is permanent, and its column is called so: id: full_name',
    );
  else if (!ID.test(id))
    field.error('id', 'must be a small letter, then small letters, digits or _; at most 40 together');
  else if (OWN_COLUMNS.includes(id)) field.error('id', `may not be ${OWN_COLUMNS.join(' or ')}`);
  return id;
}

type Bounds = Pick<FormField, 'min' | 'max'>;

function readBounds(field: YamlMapping, type: FieldType): Bounds {
  const bounds = readBoundsByType(field, type);
  const { min, max } = bounds;
  if (min !== undefined && max !== undefined && min > max) field.error('min', 'is more than max');
  return bounds;
}

function readBoundsByType(field: YamlMapping, type: FieldType): Bounds {
  switch (type) {
    case 'text':
    case 'textarea':
      return { min: field.integer('min', 0, LIMITS[type]), max: field.integer('max', 1, LIMITS[type]) };
    case 'choices':
      return { min: field.integer('min', 0, LIMITS.options), max: field.integer('max', 1, LIMITS.options) };
    case 'number':
      return { min: field.number('min'), max: field.number('max') };
    case 'rating':
      return { min: 1, max: field.integer('max', 2, LIMITS.rating) ?? 5 };
    case 'date':
    case 'time':
      return { min: instant(field, 'min', type), max: instant(field, 'max', type) };
    default:
      return {};
  }
}

function instant(field: YamlMapping, key: string, type: 'date' | 'time'): string | undefined {
  const text = field.text(key, 20);
  if (text === undefined || (type === 'date' ? DATE : TIME).test(text)) return text;
  return field.error(key, type === 'date' ? 'must be a date like 2026-12-24' : 'must be a time like "09:30"');
}

function readPattern(field: YamlMapping, type: FieldType): Pick<FormField, 'pattern' | 'patternMessage'> {
  const pattern = type === 'text' ? field.text('pattern', 500) : undefined;
  const patternMessage = field.text('pattern_message', 300)?.replace(/\.$/, '') || undefined;
  if (pattern === undefined && patternMessage !== undefined)
    field.error('pattern_message', 'has no meaning without a pattern');
  if (pattern === undefined) return {};
  try {
    if (RE2JS.compile(pattern).programSize() > LIMITS.patternProgram)
      field.error('pattern', 'is too complex', 'Use fewer and smaller repetitions');
  } catch {
    field.error(
      'pattern',
      'is no regular expression that RE2 understands',
      'Back references and look-around are unknown to it',
    );
  }
  return { pattern, patternMessage };
}

function readOptions(field: YamlMapping, type: FieldType): FormOption[] {
  if (type !== 'choice' && type !== 'choices') return [];
  if (!field.has('options'))
    return field.error('options', 'is missing', 'List what can be chosen: options: [Yes, No]') ?? [];
  const options = field.optionList('options', LIMITS.options);
  const ids = new Set(options.map(({ id }) => id));
  if (ids.size < options.length) field.error('options', 'has two options with the same id');
  return options;
}

const ACCEPTED = /^(\.[a-z0-9]{1,12}|[a-z]+\/(\*|[a-z0-9.+-]+))$/i;

function readAccept(field: YamlMapping): string[] {
  const accept = field.texts('accept', 30);
  if (!accept.every(one => ACCEPTED.test(one)))
    field.error('accept', 'must list endings (.pdf) or media types (image/*)');
  return accept.map(one => one.toLowerCase());
}
