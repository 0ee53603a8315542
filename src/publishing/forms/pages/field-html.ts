import { type Html, html } from '#libs/html/index.js';
import { countInWords, sizeInWords } from '../../exposure/index.js';
import { type FormField, LIMITS } from '../file/form-definition.js';

/** What stands in a form again after a mistake. */
export interface Filled {
  readonly values: ReadonlyMap<string, readonly string[]>;
  readonly mistakes: ReadonlyMap<string, string>;
}

export const EMPTY: Filled = { values: new Map(), mistakes: new Map() };

/** The id of the first control of a field, where links in the summary lead. */
export const controlId = (id: string): string => `f-${id}`;

/** The ids of the controls that choose the options of a field, or its numbers, in their order. */
export function controlIds(field: FormField): string[] {
  const { id, type, options, max } = field;
  const count = type === 'rating' ? Number(max) : type === 'checkbox' ? 1 : options.length;
  // A list that opens begins with an option that is none.
  if (!isGroup(field) && type === 'choice')
    return options.map((_, index) => `${controlId(id)} option:nth-child(${index + 2})`);
  return Array.from({ length: count }, (_, index) => optionId(id, index));
}

const optionId = (id: string, index: number): string => `${controlId(id)}${index > 0 ? `-${index + 1}` : ''}`;

/** The id of what is hidden while the condition of a field does not hold. */
export const conditionalId = (id: string): string => `c-${id}`;

/** One field of a form: its label, what helps, what is wrong, and its control. */
export function fieldHtml(field: FormField, filled: Filled): Html {
  const made = plainFieldHtml(field, filled);
  return field.showIf ? html`<div id="${conditionalId(field.id)}">${made}</div>\n` : made;
}

function plainFieldHtml(field: FormField, filled: Filled): Html {
  const { type } = field;
  if (type === 'heading')
    return html`<div class="section"><h2>${field.label}</h2>${field.help && html`<p>${field.help}</p>`}</div>\n`;
  const view = { field, values: filled.values.get(field.id) ?? [], mistake: filled.mistakes.get(field.id) };
  if (isGroup(field)) return group(view);
  if (type === 'checkbox') return tick(view);
  return html`<div class="field${view.mistake && ' wrong'}"><label for="${controlId(field.id)}">${field.label}${optional(field)}</label>${aside(view)}${control(view)}</div>\n`;
}

/** Beyond this, options are a list that opens. */
const MAX_RADIOS = 7;

const isGroup = ({ type, options }: FormField): boolean =>
  type === 'choices' || type === 'rating' || (type === 'choice' && options.length <= MAX_RADIOS);

interface View {
  readonly field: FormField;
  readonly values: readonly string[];
  readonly mistake: string | undefined;
}

const optional = ({ required }: FormField): Html =>
  required ? html`` : html` <span class="optional">(optional)</span>`;

const helpId = (id: string) => `h-${id}`;
const mistakeId = (id: string) => `e-${id}`;

function renderHelp({ type, help, accept, maxFiles, min, max }: FormField): string {
  if (type === 'file') {
    const limits = `Up to ${countInWords(maxFiles, 'file', 'files')}, ${sizeInWords(LIMITS.fileUploadBytes)} each${accept.length > 0 ? `: ${accept.join(', ')}` : ''}.`;
    return [help, limits].filter(Boolean).join(' ');
  }
  if (type === 'rating')
    return [help, `From 1, the lowest, to ${max}, the highest.`].filter(Boolean).join(' ');
  if (type !== 'choices' || (min === undefined && max === undefined)) return help;
  const few = min !== undefined && `at least ${min}`;
  const many = max !== undefined && `at most ${max}`;
  return [help, `Choose ${[few, many].filter(Boolean).join(' and ')}.`].filter(Boolean).join(' ');
}

const sentence = (mistake: string): string =>
  `${mistake[0]?.toUpperCase()}${mistake.slice(1)}${/[.!?]$/.test(mistake) ? '' : '.'}`;

function aside({ field, mistake }: View): Html {
  const help = renderHelp(field);
  return html`${help && html`<p class="help" id="${helpId(field.id)}">${help}</p>`}${
    mistake !== undefined &&
    html`<p class="mistake" id="${mistakeId(field.id)}"><span class="hidden">Mistake: </span>${sentence(mistake)}</p>`
  }`;
}

/** Attributes that tie a control to what is said of it. */
function tied({ field, mistake }: View): Html {
  const ids = [renderHelp(field) && helpId(field.id), mistake !== undefined && mistakeId(field.id)].filter(
    Boolean,
  );
  return html`${ids.length > 0 && html` aria-describedby="${ids.join(' ')}"`}${mistake !== undefined && html` aria-invalid="true"`}`;
}

function control(view: View): Html {
  const { field, values } = view;
  const { id, type, required, placeholder, max } = field;
  const [value = ''] = values;
  const start = html`id="${controlId(id)}" name="${id}"${required && html` required`}${tied(view)}${autocomplete(field)}`;
  const hint = placeholder && html` placeholder="${placeholder}"`;
  switch (type) {
    case 'textarea':
      return html`<textarea ${start}${hint} rows="5" maxlength="${max ?? LIMITS.textarea}">\n${value}</textarea>`;
    case 'choice':
      return html`<select ${start}><option value="">Choose one</option>${field.options.map(
        option =>
          html`<option value="${option.id}"${option.id === value && html` selected`}>${option.label}</option>`,
      )}</select>`;
    case 'file':
      return html`<input type="file" ${start}${field.maxFiles > 1 && html` multiple`}${
        field.accept.length > 0 && html` accept="${field.accept.join(',')}"`
      }>`;
    default:
      return html`<input type="${INPUT_TYPES[type] ?? 'text'}" ${start}${hint}${renderBounds(field)} value="${value}">`;
  }
}

const INPUT_TYPES: Partial<Record<FormField['type'], string>> = {
  email: 'email',
  phone: 'tel',
  url: 'url',
  number: 'number',
  date: 'date',
  time: 'time',
};

function renderBounds({ type, min, max }: FormField): Html {
  if (type === 'text') return html` maxlength="${max ?? LIMITS.text}"`;
  if (type === 'email') return html` maxlength="254"`;
  const bounds = html`${min !== undefined && html` min="${min}"`}${max !== undefined && html` max="${max}"`}`;
  return type === 'number' ? html` step="any" inputmode="decimal"${bounds}` : bounds;
}

/** What browsers may fill in by themselves (WCAG 2.2, 1.3.5). */
const TOKENS: Readonly<Record<string, string>> = {
  name: 'name',
  full_name: 'name',
  your_name: 'name',
  first_name: 'given-name',
  last_name: 'family-name',
  surname: 'family-name',
  company: 'organization',
  organization: 'organization',
  job_title: 'organization-title',
  address: 'street-address',
  street: 'street-address',
  city: 'address-level2',
  postcode: 'postal-code',
  zip: 'postal-code',
  postal_code: 'postal-code',
  country: 'country-name',
  birthday: 'bday',
  date_of_birth: 'bday',
};

function autocomplete({ id, type }: FormField): Html {
  const byType = type === 'email' ? 'email' : type === 'phone' ? 'tel' : type === 'url' ? 'url' : undefined;
  const token = byType ?? (['text', 'textarea', 'date'].includes(type) ? TOKENS[id] : undefined);
  return html`${token && html` autocomplete="${token}"`}`;
}

function group(view: View): Html {
  const { field, values } = view;
  const { id, type, required } = field;
  const kind = type === 'choices' ? 'checkbox' : 'radio';
  const options =
    type === 'rating'
      ? Array.from({ length: Number(field.max) }, (_, n) => ({ id: String(n + 1), label: String(n + 1) }))
      : field.options;
  const items = options.map(
    (option, index) =>
      html`<label class="option"><input type="${kind}" id="${optionId(id, index)}" name="${id}" value="${option.id}"${
        values.includes(option.id) && html` checked`
      }${kind === 'radio' && required && html` required`}><span>${option.label}</span></label>`,
  );
  const described = tied({ ...view, mistake: view.mistake });
  return html`<fieldset class="field${view.mistake && ' wrong'}"${kind === 'radio' && html` role="radiogroup"`}${
    kind === 'radio' ? described : describedOnly(view)
  }><legend>${field.label}${optional(field)}</legend>${aside(view)}<div class="options${type === 'rating' && ' scale'}">${items}</div></fieldset>\n`;
}

/** A group of checkboxes has no state of being invalid. */
function describedOnly({ field, mistake }: View): Html {
  const ids = [renderHelp(field) && helpId(field.id), mistake !== undefined && mistakeId(field.id)].filter(
    Boolean,
  );
  return html`${ids.length > 0 && html` aria-describedby="${ids.join(' ')}"`}`;
}

function tick(view: View): Html {
  const { field, values } = view;
  const { id, label, required } = field;
  return html`<div class="field${view.mistake && ' wrong'}">${aside(view)}<label class="option"><input type="checkbox" id="${controlId(id)}" name="${id}" value="true"${
    values.length > 0 && html` checked`
  }${required && html` required`}${tied(view)}><span>${label}${optional(field)}</span></label></div>\n`;
}
