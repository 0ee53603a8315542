import { type Finding, Findings } from '#libs/front-matter/index.js';
import { ONE_LINE } from '#libs/plain-text/index.js';
import { renderMarkdown } from '#libs/text-preview/index.js';
import { readYamlMapping, type YamlMapping } from '../../../workspaces/yaml-files/index.js';
import { type FormDefinition, LIMITS, PROTECTIONS } from './form-definition.js';
import { readFields } from './form-fields.js';

/** A `.form` file as it was read: the definition is null where a finding is an error. */
export interface FormFile {
  readonly definition: FormDefinition | null;
  readonly findings: readonly Finding[];
}

const KEYS = [
  'title',
  'description',
  'fields',
  'output',
  'confirmation',
  'closes_at',
  'max_responses',
  'notify',
  'embed',
  'protection',
];

/** Longest name that a file can have. */
const MAX_NAME_BYTES = 255;

const THANKS = { title: 'Thank you', text: '' };

/** Reads a file of at most 256 KiB, never throws. Runs in a worker thread: YAML and Markdown can be written that take long. */
export function readFormFile({ name, text }: { name: string; text: string }): FormFile {
  const findings = new Findings(name);
  const file = readYamlMapping(text, findings, 'Begin with a title and fields');
  const definition = file && readForm(file);
  return { definition: findings.hasErrors ? null : (definition ?? null), findings: findings.all };
}

function readForm(file: YamlMapping): FormDefinition {
  file.expect(KEYS);
  const title = file.text('title', 200) ?? '';
  if (title === '') file.findings.error('title is missing', null, 'Add a line like title: Sign up');
  return {
    title,
    description: markdown(file.text('description', 10_000)),
    fields: readFields(file),
    output: readOutput(file),
    confirmation: readConfirmation(file),
    closesAt: readTime(file, 'closes_at'),
    maxResponses: file.integer('max_responses', 1, 1_000_000) ?? null,
    notify: file.boolean('notify') ?? true,
    embed: readEmbed(file),
    protection: file.choice('protection', PROTECTIONS) ?? 'auto',
  };
}

/** Pages of forms load nothing from elsewhere: relative addresses lead nowhere. */
const markdown = (text: string | undefined): string => (text ? renderMarkdown(text, () => undefined) : '');

function readOutput(file: YamlMapping): string | null {
  const output = file.text('output', 200);
  if (output === undefined) return null;
  const isName = /^[^./\\][^/\\]*\.csv$/i.test(output) && ONE_LINE.test(output);
  if (isName && Buffer.byteLength(output) <= MAX_NAME_BYTES) return output;
  return (
    file.error(
      'output',
      `must be the name of a .csv file of at most ${MAX_NAME_BYTES} bytes, without control characters; it lies beside the form`,
    ) ?? null
  );
}

function readConfirmation(file: YamlMapping): FormDefinition['confirmation'] {
  const confirmation = file.mapping('confirmation');
  if (!confirmation) return { ...THANKS, redirect: null };
  confirmation.expect(['title', 'text', 'redirect']);
  const redirect = confirmation.text('redirect', 2000) ?? null;
  if (redirect !== null && !isHttps(redirect))
    confirmation.error('redirect', 'must be an address that begins with https://');
  return {
    title: confirmation.text('title', 200) || THANKS.title,
    text: markdown(confirmation.text('text', 10_000)),
    redirect,
  };
}

const isHttps = (address: string): boolean => {
  const url = URL.parse(address);
  return url?.protocol === 'https:' && url.username === '' && url.password === '';
};

const ZONED = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;

function readTime(file: YamlMapping, key: string): string | null {
  const text = file.text(key, 40);
  if (text === undefined) return null;
  const time = new Date(text);
  if (ZONED.test(text) && !Number.isNaN(time.getTime())) return time.toISOString();
  return (
    file.error(key, 'must be a time with its zone', 'Write it like 2026-12-24T18:00:00Z, or with +01:00') ??
    null
  );
}

function readEmbed(file: YamlMapping): string[] {
  const origins = file.texts('embed', LIMITS.embed);
  for (const origin of origins)
    if (!isOrigin(origin))
      file.error(
        'embed',
        'must list origins',
        'An origin is https:// and a host, without a path: https://example.com',
      );
  return origins;
}

/** Whether it is the origin of a page, as browsers write it. Over HTTP only on this machine. */
function isOrigin(text: string): boolean {
  const url = URL.parse(text);
  if (!url || url.origin !== text) return false;
  return (
    url.protocol === 'https:' || (url.protocol === 'http:' && /^(localhost|127\.0\.0\.1)$/.test(url.hostname))
  );
}
