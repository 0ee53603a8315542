import { didYouMean } from '#libs/did-you-mean/index.js';
import { type Finding, Findings, splitFrontMatter } from '#libs/front-matter/index.js';
import { LANGUAGES } from '../../../workspaces/sandboxes/index.js';
import { readYamlMapping, type YamlMapping } from '../../../workspaces/yaml-files/index.js';
import { secretNameFault } from '../../secrets/index.js';
import {
  AUTOMATION_LIMITS,
  type AutomationDefinition,
  CONCURRENCY,
  NOTIFY,
  ON_APPROVAL,
  type Work,
} from './automation-definition.js';
import { secondsOf } from './durations.js';
import { checkPlaceholders } from './placeholders.js';
import { readTriggers } from './trigger-rules.js';

/** What an agent may use where its automation does not say. */
const READ_ONLY = ['read_file', 'list_files', 'find_files', 'search_files', 'skill', 'read_input'] as const;

const DEFAULT_SECONDS = 900;
const DEFAULT_BACKOFF = 30;
const DAY = 86_400;
const KEYS = [
  'name',
  'description',
  'on',
  'run',
  'file',
  'agent',
  'model',
  'tools',
  'actions',
  'chat',
  'connections',
  'secrets',
  'concurrency',
  'on_approval',
  'approval_deadline',
  'limits',
  'expect',
  'retries',
  'pause_after',
  'alert_after',
  'notify',
  'input',
];

/** A file as it was read: the definition is null where a finding is an error. */
export interface AutomationReading {
  readonly definition: AutomationDefinition | null;
  readonly findings: readonly Finding[];
  /** The lines of its keys, for what is found out later. */
  readonly lines: ReadonlyMap<string, number>;
}

/** Reads an automation from its Markdown file: YAML front matter, then the prompt or the script. Never throws. */
export function readAutomation(path: string, text: string): AutomationReading {
  const findings = new Findings(path);
  const lines = new Map<string, number>();
  const definition = read(path, withPlainLineEnds(text), findings, lines);
  return { definition: findings.hasErrors ? null : (definition ?? null), findings: findings.all, lines };
}

/** As shells need them: editors on Windows end lines with CR LF. */
export const withPlainLineEnds = (text: string): string => text.replaceAll('\r\n', '\n');

function read(
  path: string,
  text: string,
  findings: Findings,
  lines: Map<string, number>,
): AutomationDefinition | undefined {
  const split = splitFrontMatter(text, findings);
  if (!split) return undefined;
  const { yaml, body, bodyLine } = split;
  if (yaml.trim() === '') {
    findings.error('There is no front matter', 1, 'Begin with ---, a line such as run: bash, and --- again');
    return undefined;
  }
  const matter = readYamlMapping(yaml, findings, 'Begin with --- and a line such as on:', 2);
  if (!matter) return undefined;
  matter.expect(KEYS);
  for (const key of KEYS) lines.set(key, matter.lineOf(key) ?? 1);
  const triggers = readTriggers(matter);
  const limits = readLimits(matter);
  const work = readWork(matter, body, bodyLine);
  warnOfSlowRuns(matter, triggers, limits.maxSeconds);
  const expect = readExpectations(matter);
  for (const trigger of triggers)
    if (trigger.kind === 'file' && expect.files.includes(trigger.glob))
      findings.warn(
        `expect.files has the files that start it: ${trigger.glob}`,
        matter.lineOf('expect'),
        'Its own changes never start it; another glob says better what is meant',
      );
  return {
    name: matter.text('name', 100) || nameOf(path),
    description: matter.text('description', 1000) ?? '',
    triggers,
    work,
    agent: matter.text('agent', 64) ?? null,
    model: matter.text('model', 200) ?? null,
    tools: matter.has('tools') ? matter.texts('tools', AUTOMATION_LIMITS.tools) : READ_ONLY,
    actions: matter.texts('actions', AUTOMATION_LIMITS.actions),
    connections: matter.texts('connections', AUTOMATION_LIMITS.connections),
    secrets: readSecrets(matter),
    chat: matter.choice('chat', ['new', 'continue']) ?? 'new',
    concurrency: readConcurrency(matter),
    onApproval: matter.choice('on_approval', ON_APPROVAL) ?? 'fail',
    approvalDeadlineSeconds: secondsOf(matter, 'approval_deadline', { least: 60, most: 7 * DAY }) ?? 4 * 3600,
    limits,
    expect,
    retries: readRetries(matter),
    pauseAfter: readPauseAfter(matter),
    alertAfterSeconds: secondsOf(matter, 'alert_after', { least: 60, most: 366 * DAY }) ?? null,
    notify: readNotify(matter),
    input: readInput(matter),
  };
}

function nameOf(path: string): string {
  const file = path.slice(path.lastIndexOf('/') + 1);
  return file.replace(/(\.automation)?\.md$/, '') || file;
}

const FENCE = /^\s*(`{3,}|~{3,})[^\n]*\n([\s\S]*?)\n?\1\s*$/;

function readWork(matter: YamlMapping, body: string, bodyLine: number): Work {
  const { findings } = matter;
  const file = matter.text('file', 4096);
  if (!matter.has('run')) {
    if (file !== undefined)
      matter.error('file', 'needs "run", which says with what the file is run', 'run: bash');
    if (body.trim() === '')
      findings.error('There is no prompt below the front matter', bodyLine, 'Write there what is to be done');
    checkPlaceholders(body, bodyLine, findings);
    return { kind: 'agent', prompt: body.trim() };
  }
  for (const key of ['agent', 'model', 'tools', 'chat'])
    if (matter.has(key)) matter.error(key, 'is of agents; a script has none');
  const language = matter.choice('run', LANGUAGES) ?? 'bash';
  if (file !== undefined) {
    if (/^\/|(^|\/)\.\.(\/|$)/.test(file)) matter.error('file', 'must be a path within the workspace');
    if (body.trim() !== '')
      findings.error('There is a file and a script below the front matter; keep one', bodyLine);
    return { kind: 'script', language, file, code: null };
  }
  if (body.trim() === '')
    findings.error(
      'There is no script',
      bodyLine,
      'Write it below the front matter, or name it: file: scripts/report.py',
    );
  const code = FENCE.exec(body)?.[2] ?? body;
  return { kind: 'script', language, file: null, code: `${code.trim()}\n` };
}

function readLimits(matter: YamlMapping): AutomationDefinition['limits'] {
  const limits = matter.mapping('limits');
  limits?.expect(['cost_usd', 'max_steps', 'max_seconds', 'runs_per_day', 'daily_usd']);
  return {
    costUsd: limits ? positive(limits, 'cost_usd') : null,
    maxSteps: limits?.integer('max_steps', 1, 10_000) ?? null,
    maxSeconds: limits?.integer('max_seconds', 1, 7 * DAY) ?? DEFAULT_SECONDS,
    runsPerDay: limits?.integer('runs_per_day', 1, 100_000) ?? null,
    dailyUsd: limits ? positive(limits, 'daily_usd') : null,
  };
}

function positive(mapping: YamlMapping, key: string): number | null {
  const number = mapping.number(key);
  if (number === undefined) return null;
  return number > 0 ? number : (mapping.error(key, 'must be more than 0') ?? null);
}

function readConcurrency(matter: YamlMapping): AutomationDefinition['concurrency'] {
  const concurrency = matter.mapping('concurrency');
  concurrency?.expect(['policy', 'max', 'group']);
  const policy = concurrency?.choice('policy', CONCURRENCY) ?? null;
  const max = concurrency?.integer('max', 1, 20);
  if (max !== undefined && max > 1 && policy !== 'parallel')
    concurrency?.error('max', 'counts with policy: parallel only');
  return {
    policy,
    max: max ?? (policy === 'parallel' ? 5 : 1),
    group: concurrency?.text('group', 64) ?? null,
  };
}

function readExpectations(matter: YamlMapping): AutomationDefinition['expect'] {
  const expect = matter.mapping('expect');
  expect?.expect(['files', 'response_schema']);
  if (expect?.has('response_schema') && matter.has('run'))
    expect.error('response_schema', 'is of agents; a script has none');
  const responseSchema = expect?.value('response_schema');
  if (expect && responseSchema !== undefined && !isObject(responseSchema))
    expect.error('response_schema', 'must be a JSON Schema');
  return { files: expect?.texts('files', 20) ?? [], responseSchema };
}

function readRetries(matter: YamlMapping): AutomationDefinition['retries'] {
  const retries = matter.mapping('retries');
  if (!retries) return null;
  retries.expect(['max', 'backoff']);
  if (!retries.has('max'))
    retries.error('max', 'is missing: how often a run that failed is tried again', 'retries: { max: 3 }');
  return {
    max: retries.integer('max', 1, AUTOMATION_LIMITS.retries) ?? 1,
    backoffSeconds: secondsOf(retries, 'backoff', { least: 1, most: 3600 }) ?? DEFAULT_BACKOFF,
  };
}

function readPauseAfter(matter: YamlMapping): number | null {
  if (matter.value('pause_after') === 'off' || matter.value('pause_after') === false) return null;
  return matter.integer('pause_after', 1, 1000) ?? 5;
}

function readSecrets(matter: YamlMapping): string[] {
  if (matter.has('secrets') && !matter.has('run'))
    matter.error('secrets', 'is of scripts; an agent gets none', 'Give the agent a connection instead');
  const names = matter.texts('secrets', AUTOMATION_LIMITS.secrets);
  for (const name of names) {
    const fault = secretNameFault(name);
    if (fault) matter.error('secrets', fault);
  }
  return names;
}

function readNotify(matter: YamlMapping): AutomationDefinition['notify'] {
  if (!matter.has('notify')) return ['failed', 'paused'];
  const named = matter.texts('notify', NOTIFY.length);
  for (const name of named) {
    if ((NOTIFY as readonly string[]).includes(name)) continue;
    const meant = didYouMean(name, NOTIFY);
    matter.error('notify', `knows ${NOTIFY.join(', ')} only`, meant && `Did you mean "${meant}"?`);
  }
  return NOTIFY.filter(one => named.includes(one));
}

function readInput(matter: YamlMapping): unknown {
  const input = matter.value('input');
  if (input !== undefined && !isObject(input)) matter.error('input', 'must be a JSON Schema');
  return input;
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Slots that come before the run of the one before has ended are skipped. */
function warnOfSlowRuns(
  matter: YamlMapping,
  triggers: AutomationDefinition['triggers'],
  maxSeconds: number,
): void {
  for (const trigger of triggers) {
    if (trigger.kind !== 'schedule' || trigger.cron === null) continue;
    const minutes = /^\*(?:\/(\d+))?\s+\*\s+\*\s+\*\s+\*$/.exec(trigger.cron.trim());
    const seconds = minutes ? Number(minutes[1] ?? 1) * 60 : Number.POSITIVE_INFINITY;
    if (seconds < maxSeconds)
      matter.findings.warn(
        `A run may take ${maxSeconds} seconds, longer than from one slot to the next; slots that come meanwhile are skipped`,
        matter.lineOf('limits') ?? matter.lineOf('on'),
        `limits: { max_seconds: ${seconds} }`,
      );
  }
}
