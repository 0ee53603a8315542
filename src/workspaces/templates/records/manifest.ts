import { parse } from 'yaml';
import { OperationRefused } from '../../operations/index.js';

export const MANIFEST = 'template.yaml';
export const MAX_MANIFEST_BYTES = 64 * 1024;
const MAX_ITEMS = 100;
const MAX_TEXT = 1000;

export interface Parameter {
  readonly name: string;
  readonly label: string;
  readonly type: 'string' | 'choice' | 'boolean';
  readonly default: string | null;
  readonly choices: readonly string[];
}

/** What template.yaml says of a template. */
export interface Manifest {
  readonly name: string | null;
  readonly description: string | null;
  readonly parameters: readonly Parameter[];
  /** Globs of the files whose placeholders are filled in. */
  readonly render: readonly string[];
  readonly exclude: readonly string[];
  readonly connections: readonly string[];
  readonly egress: readonly string[];
  readonly next_steps: readonly string[];
}

/** Throws OperationRefused with a sentence that says what is wrong. */
export function parseManifest(text: string): Manifest {
  const whole = readYaml(text);
  return {
    name: textOf(whole, 'name'),
    description: textOf(whole, 'description'),
    parameters: listOf(whole, 'parameters').map(parameterOf),
    render: textsOf(whole, 'render'),
    exclude: textsOf(whole, 'exclude'),
    connections: textsOf(whole, 'connections'),
    egress: textsOf(whole, 'egress'),
    next_steps: textsOf(whole, 'next_steps'),
  };
}

type Mapping = Record<string, unknown>;

function readYaml(text: string): Mapping {
  try {
    const parsed: unknown = parse(text, { maxAliasCount: 0 });
    if (parsed === null || parsed === undefined) return {};
    if (isMapping(parsed)) return parsed;
  } catch (error) {
    throw mistake(`is no YAML: ${error instanceof Error ? error.message.split('\n')[0] : 'unreadable'}`);
  }
  throw mistake('must be a mapping of names to values');
}

function parameterOf(value: unknown, index: number): Parameter {
  if (!isMapping(value)) throw mistake(`parameters[${index}] must be a mapping with a name`);
  const name = textOf(value, 'name') ?? '';
  if (!/^[a-z][a-z0-9_]{0,39}$/.test(name))
    throw mistake(
      `parameters[${index}].name must be lower-case letters, digits and _, beginning with a letter`,
    );
  const type = textOf(value, 'type') ?? 'string';
  if (type !== 'string' && type !== 'choice' && type !== 'boolean')
    throw mistake(`the type of ${name} must be string, choice or boolean`);
  const choices = type === 'boolean' ? ['true', 'false'] : textsOf(value, 'choices');
  if (type === 'choice' && choices.length === 0) throw mistake(`${name} needs choices`);
  const given = value.default;
  const standard = given === undefined || given === null ? null : String(given);
  if (standard !== null && choices.length > 0 && !choices.includes(standard))
    throw mistake(`the default of ${name} is none of its choices`);
  return { name, label: textOf(value, 'label') ?? name, type, default: standard, choices };
}

function textOf(from: Mapping, key: string): string | null {
  const value = from[key];
  if (value === undefined || value === null) return null;
  if (typeof value === 'string' && value.length <= MAX_TEXT) return value;
  throw mistake(`${key} must be a text of at most ${MAX_TEXT} characters`);
}

function textsOf(from: Mapping, key: string): string[] {
  return listOf(from, key).map(item => {
    if (typeof item === 'string' && item.length <= MAX_TEXT) return item;
    throw mistake(`${key} must be a list of texts`);
  });
}

function listOf(from: Mapping, key: string): unknown[] {
  const value = from[key] ?? [];
  if (Array.isArray(value) && value.length <= MAX_ITEMS) return value;
  throw mistake(`${key} must be a list of at most ${MAX_ITEMS}`);
}

const isMapping = (value: unknown): value is Mapping =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const mistake = (message: string) => new OperationRefused(`${MANIFEST}: ${message}`);
