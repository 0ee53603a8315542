import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { FakeOpenAi } from '../fakes/openai-server.js';
import type { Json } from '../harness/client.js';
import { type Person, TestService } from '../harness/service.js';

let model: FakeOpenAi;
let service: TestService;
let ada: Person;

beforeAll(async () => {
  model = await FakeOpenAi.start();
  service = await TestService.start({
    OPENAI_COMPATIBLE_BASE_URL: model.url,
    OPENAI_COMPATIBLE_MODELS: 'small,large',
  });
  ada = await service.person();
});
afterAll(async () => {
  await service.stop();
  await model.stop();
});

const folderOf = (workspace: string) => path.join(service.dataDir, 'workspaces', workspace);

/** A new workspace that holds these files. */
async function workspaceWith(files: Record<string, string | Buffer>): Promise<string> {
  const id = await service.workspace(ada);
  put(id, files);
  return id;
}

function put(workspace: string, files: Record<string, string | Buffer>): void {
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(folderOf(workspace), name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, content);
  }
}

const file = (...lines: string[]) => `---\n${lines.join('\n')}\n---\nDo it well.\n`;

describe('the agents of a workspace', () => {
  const listed = async (workspace: string) => {
    const { status, body } = await ada.client.get(`/api/workspaces/${workspace}/agents`);
    expect(status).toBe(200);
    return body;
  };
  const findingsOf = ({ items }: Json, name: string) =>
    items.find((item: Json) => item.path === name)?.findings;

  it('are none where there is no folder', async () => {
    expect(await listed(await service.workspace(ada))).toEqual({
      items: [],
      skills: [],
      instructions: null,
      findings: [],
    });
  });

  it('are listed with what they may use, skills and instructions beside them', async () => {
    const workspace = await workspaceWith({
      '.agents/reviewer.md': file('name: reviewer', 'description: Reviews texts', 'tools: [read_*, task]'),
      '.agents/agents/writer.md': file('description: Writes', 'model: local/large', 'max_steps: 7'),
      '.agents/skills/release-notes/SKILL.md': file('name: release-notes', 'description: Writes notes'),
      'AGENTS.md': 'Be brief.',
    });
    const body = await listed(workspace);
    expect(body.items).toMatchObject([
      { name: 'reviewer', path: '.agents/reviewer.md', tools: ['read_*', 'task'], valid: true, findings: [] },
      { name: 'writer', model: 'local/large', max_steps: 7, valid: true, findings: [] },
    ]);
    expect(body.skills).toMatchObject([{ name: 'release-notes', valid: true, findings: [] }]);
    expect(body.instructions).toEqual({ path: 'AGENTS.md', bytes: 9, truncated: false });
    expect(body.findings).toEqual([]);
  });

  it('are linted, with the line and what was probably meant', async () => {
    const workspace = await workspaceWith({
      '.agents/key.md': file('description: a', 'tool: bash'),
      '.agents/yaml.md': file('description: [a'),
      '.agents/pattern.md': file('description: a', 'tools: [bsh, "read_*", "action:file_delet"]'),
      '.agents/model.md': file('description: a', 'model: nobody/nothing'),
      '.agents/one.md': file('name: twin', 'description: a'),
      '.agents/two.md': file('name: twin', 'description: a'),
      '.agents/large.md': `${file('description: a')}${'x'.repeat(65_536)}`,
      '.agents/latin.md': Buffer.from([0xe4, 0xf6, 0xfc]),
      '.agents/skills/other/SKILL.md': file('description: a', 'name: Other'),
      '.agents/skills/empty/README.md': '',
    });
    symlinkSync('/etc/passwd', path.join(folderOf(workspace), '.agents/link.md'));
    symlinkSync('/etc/passwd', path.join(folderOf(workspace), 'AGENTS.md'));
    const body = await listed(workspace);
    expect(findingsOf(body, '.agents/key.md')).toMatchObject([
      { file: '.agents/key.md', line: 3, severity: 'error', suggestion: 'Did you mean "tools"?' },
    ]);
    expect(findingsOf(body, '.agents/yaml.md')).toMatchObject([{ severity: 'error' }, {}]);
    expect(findingsOf(body, '.agents/pattern.md')).toMatchObject([
      { severity: 'warning', message: 'tools: no tool is called "bsh"', suggestion: 'Did you mean "bash"?' },
      { severity: 'warning', suggestion: 'Did you mean "action:file_delete"?' },
    ]);
    expect(findingsOf(body, '.agents/model.md')).toMatchObject([
      { severity: 'error', message: expect.stringMatching(/no model "nobody\/nothing"/) },
    ]);
    expect(findingsOf(body, '.agents/two.md').at(-1)).toMatchObject({
      severity: 'error',
      message: '.agents/one.md defines the agent "twin" already',
    });
    expect(findingsOf(body, '.agents/large.md')).toMatchObject([
      { message: expect.stringMatching(/65,?\d+ bytes/) },
    ]);
    expect(findingsOf(body, '.agents/latin.md')).toMatchObject([{ severity: 'error' }]);
    expect(findingsOf(body, '.agents/link.md')).toMatchObject([{ message: expect.stringMatching(/links/) }]);
    expect(body.skills).toMatchObject([
      { name: 'empty', valid: false },
      { name: 'Other', valid: false },
    ]);
    expect(body.findings).toMatchObject([{ message: expect.stringMatching(/AGENTS.md is not read/) }]);
    expect(body.instructions).toBeNull();
    const invalid = body.items.filter((item: Json) => !item.valid).map(({ path: its }: Json) => its);
    expect(invalid).toEqual(
      ['key', 'large', 'latin', 'link', 'model', 'two', 'yaml'].map(name => `.agents/${name}.md`),
    );
  });

  it('are read anew when a file changes, also in place and in the same instant', async () => {
    const workspace = await workspaceWith({ '.agents/a.md': file('description: one') });
    execFileSync('touch', ['-d', '2020-01-01', path.join(folderOf(workspace), '.agents/a.md')]);
    expect((await listed(workspace)).items).toMatchObject([{ description: 'one' }]);
    for (const description of ['two', 'six', 'ten']) {
      put(workspace, { '.agents/a.md': file(`description: ${description}`) });
      expect((await listed(workspace)).items).toMatchObject([{ description }]);
    }
  });
});
