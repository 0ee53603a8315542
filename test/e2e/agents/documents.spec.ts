import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { makePdf } from '../../fakes/pdf.js';
import { type AgentGround, startAgents } from '../../harness/agent.js';
import type { Json } from '../../harness/client.js';
import type { Person } from '../../harness/service.js';

const NOTEBOOK = JSON.stringify({
  nbformat: 4,
  cells: [
    { cell_type: 'markdown', source: '# Herons' },
    {
      cell_type: 'code',
      execution_count: 1,
      source: 'count()',
      outputs: [{ output_type: 'stream', text: '12\n' }],
    },
  ],
});

let ground: AgentGround;
let ada: Person;
let workspace_id: string;

beforeAll(async () => {
  ground = await startAgents();
  ada = ground.ada;
  workspace_id = await ground.service.workspace(ada);
  const put = (name: string, content: string | Buffer) =>
    writeFileSync(path.join(ground.service.dataDir, 'workspaces', workspace_id, name), content);
  put('paper.pdf', makePdf([['Herons wade', 'in the shallows'], ['The end']]));
  put('broken.pdf', '%PDF-1.4\nno more');
  put('report', Buffer.concat([makePdf([['No ending']]), Buffer.from([0, 0xff])]));
  put('count.ipynb', NOTEBOOK);
  put('odd.ipynb', '{"cells": 1}');
  put('plain.txt', 'words\n');
});
afterEach(() => ground.model.clear());
afterAll(() => ground.stop());

const content = (query: string) => ada.client.get(`/api/workspaces/${workspace_id}/files/content?${query}`);
/** What an agent is given by `read_file`. */
async function read(input: Json): Promise<Json> {
  ground.model.reply([{ tools: [{ name: 'read_file', input }] }, { text: 'Read.' }]);
  return (await ground.agent.run('go', { workspace_id })).result.toolOutputs[0];
}

describe('a document that an agent reads', () => {
  it('is the text of a PDF, page by page, whatever it is called', async () => {
    expect((await read({ path: 'paper.pdf' })).output).toBe(
      ['(PDF, 2 pages)', '--- page 1 ---', 'Herons wade', 'in the shallows', '--- page 2 ---', 'The end']
        .map((line, index) => `${index + 1}\t${line}`)
        .join('\n'),
    );
    expect((await read({ path: 'report' })).output).toContain('No ending');
  });

  it('comes in parts', async () => {
    expect((await read({ path: 'paper.pdf', start_line: 3, end_line: 4 })).output).toBe(
      '3\tHerons wade\n4\tin the shallows\n(lines 3–4 of 6; go on with start_line=5)',
    );
    expect((await read({ path: 'paper.pdf', start_line: 9 })).output).toContain('no such lines');
  });

  it('is the cells of a notebook, with what they gave out', async () => {
    expect((await read({ path: 'count.ipynb' })).output.split('\n').slice(1)).toEqual([
      '2\t--- cell 1 (markdown) ---',
      '3\t# Herons',
      '4\t--- cell 2 (code, run as [1]) ---',
      '5\tcount()',
      '6\t--- output of cell 2 ---',
      '7\t12',
    ]);
    expect((await read({ path: 'odd.ipynb' })).output).toBe('1\t{"cells": 1}');
    expect((await read({ path: 'count.ipynb', rendered: false })).output).toContain('"nbformat":4');
    expect((await read({ path: 'plain.txt' })).output).toBe('1\twords');
  });

  it('that cannot be shown says why', async () => {
    expect(await read({ path: 'broken.pdf' })).toMatchObject({
      is_error: true,
      output: expect.stringContaining('The text of "broken.pdf" cannot be shown: it is broken'),
    });
    expect((await read({ path: 'no.pdf' })).output).toMatch(/no\.pdf/);
  });
});

describe('a document over HTTP', () => {
  it('is rendered on request alone', async () => {
    expect((await content('path=count.ipynb')).body.content).toBe(NOTEBOOK);
    expect((await content('path=report')).status).toBe(409);
    const { status, body } = await content('path=report&rendered=true&start_line=2&end_line=3');
    expect([status, body]).toMatchObject([
      200,
      {
        content: '--- page 1 ---\nNo ending\n',
        start_line: 2,
        end_line: 3,
        total_lines: 3,
        rendered: 'pdf',
        truncated: false,
      },
    ]);
    const stranger = await ground.service.person('Stranger');
    const answer = await stranger.client.get(
      `/api/workspaces/${workspace_id}/files/content?path=report&rendered=true`,
    );
    expect(answer.status).toBe(404);
  });
});
