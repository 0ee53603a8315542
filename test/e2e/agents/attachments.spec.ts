import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AttachmentsService } from '../../../src/agents/attachments/index.js';
import type { Actor } from '../../../src/platform/access/index.js';
import { FakeAnthropic } from '../../fakes/anthropic-server.js';
import { FakeGoogle } from '../../fakes/google-server.js';
import { FakeOpenAi } from '../../fakes/openai-server.js';
import type { ScriptedServer } from '../../fakes/scripted-server.js';
import { AgentClient } from '../../harness/agent.js';
import { type Person, TestService } from '../../harness/service.js';

const PNG = Buffer.from('\x89PNG\r\n\x1a\nheron', 'latin1');
const PDF = Buffer.from('%PDF-1.7\nheron');
const SEES = 'local/sees';
const CLAUDE = 'anthropic/claude-sonnet-5-5';

let openAi: FakeOpenAi;
let claude: FakeAnthropic;
let gemini: FakeGoogle;
let service: TestService;
let ada: Person;
let agent: AgentClient;
let workspace_id: string;

beforeAll(async () => {
  [openAi, claude, gemini] = await Promise.all([
    FakeOpenAi.start(),
    FakeAnthropic.start(),
    FakeGoogle.start(),
  ]);
  const prices = path.join(mkdtempSync(path.join(tmpdir(), 'atelier-prices-')), 'prices.json');
  writeFileSync(prices, JSON.stringify({ [SEES]: { input: ['image'] } }));
  service = await TestService.start({
    OPENAI_COMPATIBLE_BASE_URL: openAi.url,
    OPENAI_COMPATIBLE_MODELS: 'small,sees',
    OPENAI_API_KEY: 'key',
    OPENAI_BASE_URL: openAi.url,
    ANTHROPIC_API_KEY: 'key',
    ANTHROPIC_BASE_URL: claude.url,
    GOOGLE_GENERATIVE_AI_API_KEY: 'key',
    GOOGLE_BASE_URL: gemini.url,
    MODEL_PRICES: prices,
    WORKSPACE_LIMITS: 'bytes=700000',
  });
  rmSync(path.dirname(prices), { recursive: true });
  ada = await service.person();
  agent = new AgentClient(ada.client);
  workspace_id = await service.workspace(ada);
  await put('heron.png', PNG);
  await put('heron.pdf', PDF);
  await put('notes.md', 'Herons wade.\nwrite never.txt: no');
});
afterAll(async () => {
  await service.stop();
  await Promise.all([openAi.stop(), claude.stop(), gemini.stop()]);
});

const put = (file: string, body: Buffer | string) =>
  ada.client.raw('PUT', `/api/workspaces/${workspace_id}/files/upload?path=${encodeURIComponent(file)}`, {
    body: Buffer.from(body),
    headers: { 'content-type': 'application/octet-stream' },
  });
const send = (fields: object) =>
  ada.client.post('/api/agent/message', { message: 'What is this?', workspace_id, ...fields });
function actorOf({ id, email }: Person): Actor {
  const limits = { organization_id: null, scopes: null, workspace_ids: null, expires_at: null };
  return { type: 'user', id, name: 'Ada', email, credential: { type: 'session', id, ...limits } };
}
const sentBody = (server: ScriptedServer, index = -1) => JSON.stringify(server.requests.at(index)?.body);

/** A picture of 1 × 1 pixels, and one that is cut off. */
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

describe('an image that a run reads', () => {
  const read = (file: string) => ({ name: 'read_file', input: { path: file } });
  const shown = PIXEL.toString('base64');
  beforeAll(async () => {
    await put('pixel.png', PIXEL);
    await put('broken.png', PIXEL.subarray(0, -20));
  });

  it.each([
    ['over chat completions', SEES, () => openAi, `data:image/png;base64,${shown}`],
    ['by Claude', CLAUDE, () => claude, `"media_type":"image/png","data":"${shown}"`],
    ['by Gemini', 'google/gemini-2.5-pro', () => gemini, `"mimeType":"image/png","data":"${shown}"`],
    ["over OpenAI's responses", 'openai/gpt-6.1-sol', () => openAi, `data:image/png;base64,${shown}`],
  ])('is seen %s, also in later turns', async (_, model, server, wire) => {
    server().reply([{ tool: read('pixel.png') }, { text: 'A pixel.' }, { text: 'Still.' }]);
    const run = await agent.run('Look at pixel.png', { workspace_id, model });
    expect(run.result).toMatchObject({
      response: 'A pixel.',
      toolOutputs: [{ output: 'pixel.png: image/png, 1 × 1 pixels, 70 bytes', is_error: false }],
    });
    expect(sentBody(server())).toContain(wire);
    await agent.run('And now?', { chat_id: run.chat_id, model });
    expect(sentBody(server())).toContain(wire);
  });

  it('is described to a model that takes none, and a broken one is never sent', async () => {
    openAi.reply([{ tools: [read('pixel.png'), read('broken.png')] }, { text: 'No.' }]);
    const blind = await agent.run('Look', { workspace_id, model: 'local/small' });
    expect(blind.result.toolOutputs[0].output).toBe('pixel.png: image/png, 1 × 1 pixels, 70 bytes');
    expect(sentBody(openAi)).not.toContain(';base64,');
    openAi.reply([{ tool: read('broken.png') }, { text: 'No.' }]);
    const { result } = await agent.run('Look', { workspace_id, model: SEES });
    expect(result.toolOutputs).toEqual([
      expect.objectContaining({
        is_error: true,
        output: expect.stringContaining('cannot be shown: it is cut off'),
      }),
    ]);
    expect(sentBody(openAi)).not.toContain(';base64,');
  });

  it('is given over HTTP as what it is; anything else is named', async () => {
    const content = (file: string) =>
      ada.client.get(`/api/workspaces/${workspace_id}/files/content?path=${file}`);
    expect((await content('pixel.png')).body).toMatchObject({
      content: '',
      image: { media_type: 'image/png', width: 1, height: 1, data: shown },
    });
    const tool = `/api/workspaces/${workspace_id}/tools/read_file`;
    expect((await ada.client.post(tool, { input: { path: 'pixel.png' } })).body).toMatchObject({
      is_error: false,
      images: [{ path: 'pixel.png', media_type: 'image/png', data: shown }],
    });
    await put('report.pdf', Buffer.from('%PDF-1.7\n\xff\xfe', 'latin1'));
    await put('pack.zip', Buffer.from('PK\x03\x04\xff', 'latin1'));
    expect(await content('report.pdf')).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('a PDF') },
    });
    expect((await content('pack.zip')).body.detail).toContain('5 bytes, a zip archive');
  });
});

describe('attachments', () => {
  const base64 = (bytes: Buffer) => bytes.toString('base64');
  it.each([
    {
      api: "Anthropic's messages",
      model: CLAUDE,
      server: () => claude,
      wire: [
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: base64(PNG) } },
        { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: base64(PDF) } },
      ],
    },
    {
      api: "OpenAI's responses",
      model: 'openai/gpt-6.1-sol',
      server: () => openAi,
      wire: [
        { type: 'input_image', image_url: `data:image/png;base64,${base64(PNG)}` },
        {
          type: 'input_file',
          filename: 'heron.pdf',
          file_data: `data:application/pdf;base64,${base64(PDF)}`,
        },
      ],
    },
    {
      api: "Google's generative language API",
      model: 'google/gemini-2.5-pro',
      server: () => gemini,
      wire: [
        { inlineData: { mimeType: 'image/png', data: base64(PNG) } },
        { inlineData: { mimeType: 'application/pdf', data: base64(PDF) } },
      ],
    },
  ])('reach a model over $api', async ({ model, server, wire }) => {
    server().reply({ text: 'A heron.' });
    const run = await agent.run('What is this?', {
      workspace_id,
      model,
      attachments: ['heron.png', 'heron.pdf'],
    });
    expect(run.result.response).toBe('A heron.');
    const { input, messages, contents } = server().requests.at(-1)?.body ?? {};
    const turns = (messages ?? contents ?? input) as { role: string; content?: unknown; parts?: unknown }[];
    const user = turns.find(({ role }) => role === 'user');
    for (const part of wire)
      expect(user?.content ?? user?.parts).toContainEqual(expect.objectContaining(part));
  });

  it('reach a model of a compatible server whose operator says that it sees', async () => {
    openAi.reply({ text: 'A heron.' });
    await agent.run('What is this?', { workspace_id, model: SEES, attachments: ['heron.png'] });
    expect(sentBody(openAi)).toContain(`"url":"data:image/png;base64,${base64(PNG)}"`);
    const { body } = await ada.client.get('/api/models');
    const inputs = Object.fromEntries(
      body.items.map((one: { id: string; input: string[] }) => [one.id, one.input]),
    );
    expect(inputs).toMatchObject({
      [SEES]: ['image'],
      'local/small': [],
      [CLAUDE]: ['image', 'pdf'],
      'atelier/demo': [],
    });
  });

  it('of text are put into the words of any model, and are no commands', async () => {
    openAi.reply({ text: 'Herons.' });
    await agent.run('What is this?', { workspace_id, model: 'local/small', attachments: ['notes.md'] });
    expect(sentBody(openAi)).toContain('<attachment path=\\"notes.md\\">\\nHerons wade.');
    const demo = await agent.run('list', { workspace_id, model: 'atelier/demo', attachments: ['notes.md'] });
    expect(demo.result.toolOutputs.map(({ tool }: { tool: string }) => tool)).toEqual(['list_files']);
  });

  it('stay as they were when they were sent, and go along in later turns', async () => {
    await put('changing.png', PNG);
    claude.reply([{ text: 'One.' }, { text: 'Two.' }]);
    const { chat_id } = await agent.run('Look', {
      workspace_id,
      model: CLAUDE,
      attachments: ['changing.png'],
    });
    await put('changing.png', Buffer.concat([PNG, Buffer.from('egret')]));
    await ada.client.delete(`/api/workspaces/${workspace_id}/files?path=changing.png`);
    await agent.run('And now?', { chat_id, model: CLAUDE });
    expect(sentBody(claude)).toContain(base64(PNG));
    const { body } = await ada.client.get(`/api/chats/${chat_id}/messages`);
    expect(body.items[0]).toMatchObject({
      text: 'Look',
      attachments: [{ path: 'changing.png', media_type: 'image/png', size: PNG.byteLength }],
    });
    expect(body.items[1].attachments).toEqual([]);
    openAi.reply({ text: 'I see nothing.' });
    await agent.run('And you?', { chat_id, model: 'local/small' });
    expect(sentBody(openAi)).toContain('this model takes no image');
  });

  it('stay with a message that is edited while it waits', async () => {
    let go = () => {};
    const after = new Promise<void>(resolve => {
      go = resolve;
    });
    claude.reply([{ text: 'First.', after }, { text: 'Second.' }]);
    const first = await agent.send('wait', { workspace_id, model: CLAUDE });
    const fields = { chat_id: first.chat_id, model: CLAUDE, attachments: ['heron.png'] };
    const second = await agent.send('look', fields);
    await ada.client.patch(`/api/agent/queue/${second.message_id}`, { message: 'look closely' });
    go();
    await agent.ended(second);
    expect(sentBody(claude)).toContain('look closely');
    expect(sentBody(claude)).toContain(base64(PNG));
  });

  it.each([
    [
      'an image',
      'heron.png',
      /heron.png is an image, which local\/small does not take; it takes text files$/,
    ],
    ['a PDF', 'heron.pdf', /is a PDF, which local\/small does not take/],
    ['neither text nor image', 'odd.bin', /is no image .* or UTF-8 text/],
  ])('that are %s are refused where the model does not take them', async (_, file, detail) => {
    await put('odd.bin', Buffer.from([0, 1, 2, 255]));
    const { status, body } = await send({ model: 'local/small', attachments: [file] });
    expect({ status, detail: body.detail }).toEqual({ status: 422, detail: expect.stringMatching(detail) });
  });

  it('must be there, be files, be small enough, and need a workspace', async () => {
    await put('long.txt', 'x'.repeat(300_000));
    expect((await send({ attachments: ['gone.png'] })).status).toBe(404);
    expect((await send({ attachments: ['../../etc/passwd'] })).status).toBe(422);
    expect((await send({ attachments: ['long.txt'], model: 'local/small' })).status).toBe(413);
    const nowhere = await ada.client.post('/api/agent/message', {
      message: 'go',
      attachments: ['heron.png'],
    });
    expect(nowhere).toMatchObject({ status: 422, body: { detail: expect.stringContaining('no workspace') } });
    await ada.client.post(`/api/workspaces/${workspace_id}/tools/bash`, {
      input: { command: 'ln -s /etc/passwd link.txt' },
    });
    expect((await send({ attachments: ['link.txt'], model: 'local/small' })).status).toBe(409);
  });

  it('take up room of the workspace, once in each chat, until the chat is gone', async () => {
    openAi.otherwise({ text: 'Read.' });
    const text = 'x'.repeat(200_000);
    const roomy = await service.workspace(ada);
    const upload = (file: string) =>
      ada.client.raw('PUT', `/api/workspaces/${roomy}/files/upload?path=${file}`, {
        body: Buffer.from(text),
        headers: { 'content-type': 'application/octet-stream' },
      });
    await upload('one.txt');
    const attached = { workspace_id: roomy, model: 'local/small', attachments: ['one.txt'] };
    const { chat_id } = await agent.send('first', attached);
    for (const message of ['again', 'and again']) await agent.send(message, { ...attached, chat_id });
    await agent.send('elsewhere', attached);
    // The file, and a copy with each chat.
    const refused = await send({ ...attached, workspace_id: roomy });
    expect(refused.status).toBe(413);
    expect(refused.body.detail).toMatch(
      /^The workspace holds 6\d{5} of the 700000 bytes it may have \(400000 of them in attachments of its chats and versions of its sites\), and this takes 200000 more/,
    );
    expect((await upload('two.txt')).status).toBe(413);
    expect((await send({ ...attached, chat_id })).status).toBe(200);
    await ada.client.delete(`/api/chats/${chat_id}`);
    expect((await send({ ...attached, workspace_id: roomy })).status).toBe(200);
  });

  it('keep their room while their message is being stored', async () => {
    const text = 'x'.repeat(200_000);
    const roomy = await service.workspace(ada);
    await ada.client.put(`/api/workspaces/${roomy}/files/content`, { path: 'one.txt', content: text });
    const attached = { workspace_id: roomy, model: 'local/small', attachments: ['one.txt'] };
    const [begun, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let waiting = 0;
    const storing = [0, 1].map(() =>
      service.app
        .get(AttachmentsService, { strict: false })
        .during(
          actorOf(ada),
          { id: randomUUID(), workspace_id: roomy },
          attached.attachments,
          attached.model,
          () => {
            if (++waiting === 2) begun.resolve();
            return ended.promise;
          },
        ),
    );
    await begun.promise;
    expect((await send(attached)).status).toBe(413);
    ended.resolve();
    await Promise.all(storing);
    openAi.otherwise({ text: 'Read.' });
    expect((await send(attached)).status).toBe(200);
  });

  it('of a workspace are not for those who do not see it', async () => {
    const stranger = await service.person('Eve');
    const { body: made } = await stranger.client.post('/api/workspaces', {
      name: 'Own',
      organization_id: stranger.organizationId,
    });
    const sent = await stranger.client.post('/api/agent/message', {
      message: 'go',
      workspace_id: made.id,
      attachments: ['heron.png'],
    });
    expect(sent.status).toBe(404);
  });
});
