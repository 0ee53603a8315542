/** Kinds of fields, in the order in which the documentation has them. */
export const FIELD_TYPES = [
  'text',
  'textarea',
  'email',
  'phone',
  'url',
  'number',
  'date',
  'time',
  'choice',
  'choices',
  'checkbox',
  'rating',
  'file',
  'heading',
] as const;
export type FieldType = (typeof FIELD_TYPES)[number];

export const PROTECTIONS = ['auto', 'pow', 'none'] as const;
export type Protection = (typeof PROTECTIONS)[number];

export interface FormOption {
  readonly id: string;
  readonly label: string;
}

/** When a field is shown: while the other one has one of these answers; null: any. */
export interface FormCondition {
  readonly field: string;
  /** Ids of options, the number of a rating; `true` or `false` of a checkbox. */
  readonly is: readonly string[] | null;
}

export interface FormField {
  /** Permanent: the name of its column. */
  readonly id: string;
  readonly label: string;
  readonly type: FieldType;
  readonly required: boolean;
  /** Characters of texts, the number itself, how many choices, the first date or time. */
  readonly min?: number | string;
  readonly max?: number | string;
  /** In the syntax of RE2; the whole text has to match. */
  readonly pattern?: string;
  /** What is said to who does not match it, without its full stop. */
  readonly patternMessage?: string;
  /** A field that is not shown is not required, and what is sent for it is dropped. */
  readonly showIf?: FormCondition;
  readonly options: readonly FormOption[];
  /** Endings (`.pdf`) and media types (`image/*`) of files. */
  readonly accept: readonly string[];
  readonly maxFiles: number;
  readonly help: string;
  readonly placeholder: string;
}

export interface FormDefinition {
  readonly title: string;
  /** HTML, made of its Markdown. */
  readonly description: string;
  readonly fields: readonly FormField[];
  /** The name of the file for responses, in the folder of the form; null: that of the form with `.csv`. */
  readonly output: string | null;
  readonly confirmation: {
    readonly title: string;
    /** HTML, made of its Markdown. */
    readonly text: string;
    readonly redirect: string | null;
  };
  readonly closesAt: string | null;
  readonly maxResponses: number | null;
  readonly notify: boolean;
  /** Origins that may show it in a frame and send to it from scripts. */
  readonly embed: readonly string[];
  readonly protection: Protection;
}

export const LIMITS = {
  fileBytes: 256 * 1024,
  fields: 200,
  options: 500,
  allOptions: 2000,
  files: 10,
  fileUploadBytes: 10 * 1024 * 1024,
  patterns: 20,
  /** Instructions of a compiled pattern: what it costs is this times the length of the text. */
  patternProgram: 300,
  text: 1000,
  textarea: 10_000,
  rating: 10,
  embed: 20,
  conditions: 50,
  conditionDepth: 5,
  conditionValues: 20,
} as const;

/** The fields that are answered, and so have a column. */
export const answered = ({ fields }: Pick<FormDefinition, 'fields'>): FormField[] =>
  fields.filter(({ type }) => type !== 'heading');
