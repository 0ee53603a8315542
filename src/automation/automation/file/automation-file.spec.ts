import { describe, expect, it } from '@jest/globals';
import { isAutomationPath } from './automation-definition.js';
import { readAutomation } from './automation-file.js';
import { fillIn } from './placeholders.js';

const read = (text: string) => readAutomation('automations/report.md', text);
const found = (text: string) =>
  read(text).findings.map(({ line, severity, message, suggestion }) => [line, severity, message, suggestion]);

describe('an automation file', () => {
  it('may have the line ends of Windows, which its script does not get', () => {
    const text =
      '---\nrun: bash\non:\n  - schedule: { cron: "@daily", timezone: UTC }\nnmae: x\n---\n```bash\necho a\necho b\n```\n';
    const windows = read(`\uFEFF${text.replace('nmae: x\n', '').replaceAll('\n', '\r\n')}`);
    expect(windows.definition?.work).toMatchObject({ code: 'echo a\necho b\n' });
    expect(windows.findings).toEqual([]);
    expect(found(text.replaceAll('\n', '\r\n'))).toEqual(found(text));
    expect(read('---\r\nname: A\r\n---\r\nOne\r\ntwo\r\n').definition?.work).toMatchObject({
      prompt: 'One\ntwo',
    });
  });

  it('is read with all that it says', () => {
    const { definition, findings } = read(`---
name: Triage
on:
  - schedule: { cron: "0 9 * * 1-5", timezone: Europe/Berlin, missed: all, catch_up: 2h, jitter: 5m }
  - webhook: { verify: github, filter: { "body.action": [opened, reopened], headers.x-github-event: issues } }
  - file: { glob: "inbox/**/*.pdf", settle: 5s }
  - notification: { category: [connection] }
tools: [read_file, write_file]
actions: [chat_list]
concurrency: { policy: parallel, max: 3, group: triage }
limits: { cost_usd: 0.5, max_seconds: 60 }
expect: { files: ["reports/*.md"], response_schema: { type: object } }
retries: { max: 3, backoff: 2m }
pause_after: off
input: { type: object, properties: { since: { type: string } } }
---

Look at this title: {{ input.title }}
`);
    expect(findings).toEqual([]);
    expect(definition).toMatchObject({
      name: 'Triage',
      work: { kind: 'agent', prompt: 'Look at this title: {{ input.title }}' },
      concurrency: { policy: 'parallel', max: 3, group: 'triage' },
      limits: { costUsd: 0.5, maxSeconds: 60, maxSteps: null },
      expect: { files: ['reports/*.md'], responseSchema: { type: 'object' } },
      retries: { max: 3, backoffSeconds: 120 },
      pauseAfter: null,
      onApproval: 'fail',
      notify: ['failed', 'paused'],
      input: { type: 'object', properties: { since: { type: 'string' } } },
    });
    expect(definition?.triggers).toEqual([
      {
        kind: 'schedule',
        cron: '0 9 * * 1-5',
        at: null,
        timezone: 'Europe/Berlin',
        missed: 'all',
        catchUpSeconds: 7200,
        jitterSeconds: 300,
      },
      {
        kind: 'webhook',
        verify: 'github',
        hmac: null,
        challenge: null,
        filter: { 'body.action': ['opened', 'reopened'], 'headers.x-github-event': 'issues' },
      },
      { kind: 'file', glob: 'inbox/**/*.pdf', events: ['created', 'modified'], settleSeconds: 5 },
      { kind: 'notification', categories: ['connection'], filter: {} },
    ]);
  });

  it('may be a script, in a fence or in a file', () => {
    expect(read('---\nrun: python\n---\n```python\nprint("a")\n```\n').definition).toMatchObject({
      name: 'report',
      work: { kind: 'script', language: 'python', file: null, code: 'print("a")\n' },
    });
    expect(read('---\nrun: bash\nfile: scripts/x.sh\n---\n').definition?.work).toEqual({
      kind: 'script',
      language: 'bash',
      file: 'scripts/x.sh',
      code: null,
    });
  });

  it('is tried again only where it says so, half a minute later where it does not say when', () => {
    expect(read('---\nname: a\n---\nLook.').definition?.retries).toBeNull();
    expect(read('---\nretries: { max: 2 }\n---\nLook.').definition?.retries).toEqual({
      max: 2,
      backoffSeconds: 30,
    });
  });

  it('uses tools that only read where it does not say', () => {
    expect(read('---\nname: a\n---\nLook.').definition?.tools).not.toContain('write_file');
  });

  it.each([
    ['---\nnmae: x\n---\nGo', 2, /"nmae" is not a known key/, 'Did you mean "name"?'],
    [
      '---\non:\n  - schedule: { cron: "0 9 * *", timezone: UTC }\n---\nGo',
      3,
      /five fields/,
      'cron: "0 9 * * 1-5"',
    ],
    [
      '---\non:\n  - schedule: { cron: "@daily", timezone: Europe/Berln }\n---\nGo',
      ...([3, /timezone is no IANA time zone: Europe\/Berln/, 'timezone: Europe/Berlin'] as const),
    ],
    ['---\non:\n  - shedule: { cron: "@daily" }\n---\nGo', 3, /"shedule"/, 'Did you mean "schedule"?'],
    ['---\nrun: bash\nfile: ../x.sh\n---\n', 3, /within the workspace/, null],
    ['---\nrun: bash\ntools: [bash]\n---\necho', 3, /of agents/, null],
    [
      '---\nname: a\n---\n\nSee {{ imput.x }}',
      5,
      /stands for nothing/,
      expect.stringContaining('input.field'),
    ],
    ['---\nname: a\n---\n', 4, /no prompt/, expect.any(String)],
    ['---\nname: [\n---\nGo', expect.any(Number), /not valid YAML/, expect.any(String)],
    ['---\nlimits: { cost_usd: 0 }\n---\nGo', 2, /more than 0/, null],
    ['---\napproval_deadline: 8d\n---\nGo', 2, /from 1m to 7d/, null],
    ['---\non:\n  - webhook: { verify: hmac }\n---\nGo', 3, /header is missing/, 'header: x-signature'],
    ['---\nnotify: [faild]\n---\nGo', 2, /knows failed/, 'Did you mean "failed"?'],
    ['---\nretries: 3\n---\nGo', 2, /retries must be lines/, null],
    ['---\nretries: { backoff: 1m }\n---\nGo', 2, /retries.max is missing/, 'retries: { max: 3 }'],
    ['---\nretries: { max: 11 }\n---\nGo', 2, /retries.max must be a whole number from 1 to 10/, null],
    [
      '---\nretries: { max: 2, backoff: 2h }\n---\nGo',
      2,
      /retries.backoff must be a time from 1s to 1h/,
      null,
    ],
    ['---\nretries: { max: 2, backof: 2s }\n---\nGo', 2, /"backof"/, 'Did you mean "backoff"?'],
    ['---\nname: a', 1, /not closed/, null],
    ['Just text.', 1, /no front matter/, expect.stringContaining('---')],
    [
      '---\non:\n  - webhook: { filter: { body.a: { matches: "(?=a)" } } }\n---\nGo',
      ...([3, /a regular expression of RE2/, null] as const),
    ],
    [
      '---\non:\n  - webhook: { filter: { body.a: { matches: "((a{1,99}){1,99})" } } }\n---\nGo',
      ...([3, /a regular expression of RE2/, null] as const),
    ],
  ])('says what is wrong with %j', (text, line, message, suggestion) => {
    const errors = found(text).filter(([, severity]) => severity === 'error');
    expect(errors[0]).toEqual([line, 'error', expect.stringMatching(message), suggestion]);
    expect(read(text).definition).toBeNull();
  });

  it.each([
    ['---\non:\n  - schedule: { cron: "0 0 31 2 *", timezone: UTC }\n---\nGo', /never fires/],
    ['---\non:\n  - schedule: { cron: "0 0 * * *" }\n---\nGo', /goes by UTC/],
    ['---\non:\n  - schedule: { cron: "*/5 * * * *", timezone: UTC }\n---\nGo', /longer than from one slot/],
    ['---\non:\n  - file: { glob: "a/*" }\nexpect: { files: ["a/*"] }\n---\nGo', /files that start it/],
    ['---\nname: a\n---\nDelete {{ input.name }} from the list.', /within an instruction/],
  ])('warns of %j', (text, message) => {
    expect(read(text).findings).toEqual([expect.objectContaining({ severity: 'warning' })]);
    expect(found(text)[0]?.[2]).toMatch(message);
    expect(read(text).definition).not.toBeNull();
  });

  it.each([
    'Title: {{ input.title }}',
    '- {{ input.title }}',
    '> {{ input.title }}',
    '{{ input.title }}',
    'This run was due at {{ run.scheduled_for }}, so look at it.',
  ])('has nothing against %j', line => {
    expect(read(`---\nname: a\n---\nLook at it.\n${line}`).findings).toEqual([]);
  });

  it('bears what is nested deeply, and aliases that would grow without end', () => {
    expect(found(`---\ninput: ${'['.repeat(4000)}\n---\nGo`)[0]?.[1]).toBe('error');
    const bomb = '---\na: &a [x]\ninput: { b: *a }\n---\nGo';
    expect(found(bomb).map(([, , message]) => message)).toContainEqual(expect.stringContaining('alias'));
  });

  it('lies in automations/, or says so by its name', () => {
    expect(['automations/a.md', 'automations/b/a.md', 'x/a.automation.md'].map(isAutomationPath)).toEqual([
      true,
      true,
      true,
    ]);
    expect(['a.md', 'xautomations/a.md', 'automations/a.txt'].map(isAutomationPath)).toEqual([
      false,
      false,
      false,
    ]);
  });
});

it('fills in single values as JSON, and nothing that could be more than a value', () => {
  const values = {
    input: { title: 'a "b"\n\u0007', deep: { n: 5 }, list: [1], long: 'x'.repeat(900) },
    trigger: { kind: 'webhook' },
    run: { id: '1', scheduled_for: null },
  };
  expect(
    fillIn('{{ input.title }} {{input.deep.n}} {{ input.list }} {{ input.deep }} {{ trigger.kind }}', values),
  ).toBe('"a \\"b\\"  " 5 null null "webhook"');
  expect(fillIn('{{ input.long }}', values)).toHaveLength(502);
  expect(fillIn('{{ input.__proto__.x }} {{ run.scheduled_for }} {{ other }}', values)).toBe(
    'null null {{ other }}',
  );
});
