import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { solveChallenge } from 'altcha-lib';
import { deriveKey } from 'altcha-lib/algorithms/pbkdf2';
import { parse } from 'csv-parse/sync';
import { Tickets } from '../../../src/publishing/forms/receiving/tickets.js';
import { FormRetention } from '../../../src/publishing/forms/responses/retention.js';
import { NoRoom, WorkspaceQuota } from '../../../src/workspaces/changes/index.js';
import type { Json } from '../../harness/client.js';
import { Forms } from '../../harness/forms.js';
import { type Person, TestService } from '../../harness/service.js';

const SIGNUP = `title: Sign up
fields:
  - { id: full_name, label: Your name, type: text, required: true }
  - { id: email, label: E-mail, type: email, required: true }
  - { id: age, label: Age, type: number, min: 0, max: 150 }
  - { id: meals, label: Meals, type: choices, options: [Lunch, Dinner] }
`;
const ADA = { full_name: 'Ada', email: 'ada@example.com', age: '36' };

let service: TestService;
let ada: Person;
let forms: Forms;

beforeAll(async () => {
  service = await TestService.start({ RATE_LIMITS_PER_HOUR: 'form_address=0,form=0' });
  ada = await service.person();
  forms = await Forms.in(service, ada);
});
afterAll(() => service.stop());

describe('a form', () => {
  it('is checked, shared, filled in, and its responses are listed', async () => {
    await forms.write('signup.form', SIGNUP);
    expect((await forms.check('signup.form')).body).toMatchObject({
      ok: true,
      title: 'Sign up',
      columns: ['submission_id', 'submitted_at', 'full_name', 'email', 'age', 'meals'],
      output: 'signup.csv',
    });
    const made = await forms.share('signup.form');
    expect(made).toMatchObject({ state: 'open', title: 'Sign up', responses: 0, created_by: ada.id });
    expect(made.url).toMatch(/^http:\/\/share\.localhost(:\d+)?\/f\/[\w-]{43}$/);
    const page = await forms.visit(made.at);
    expect(page.status).toBe(200);
    expect(page.text).toContain('<label for="f-full_name">Your name</label>');
    const sent = await forms.send(made, ADA);
    expect([sent.status, sent.headers.location]).toEqual([303, `${made.at}/done`]);
    expect((await forms.visit(`${made.at}/done`)).text).toContain('Your response was received');
    await forms.written(made);
    expect(await forms.csv('signup.csv')).toEqual([
      ['submission_id', 'submitted_at', 'full_name', 'email', 'age', 'meals'],
      [expect.any(String), expect.any(String), 'Ada', 'ada@example.com', '36', ''],
    ]);
  });

  it('says what is wrong with answers, and keeps them', async () => {
    const made = await forms.make(SIGNUP);
    const sent = await forms.send(made, { full_name: '<b>', email: 'nobody', age: '1000' });
    expect(sent.status).toBe(422);
    expect(sent.text).toContain('<a href="#f-email">E-mail: this must be an e-mail address');
    expect(sent.text).toContain('Age: this may not be more than 150');
    expect(sent.text).toContain('value="&lt;b&gt;"');
    expect((await forms.read(made)).responses).toBe(0);
  });
});

const ONE = 'title: One\nfields:\n  - { id: name, label: Name, type: text }\n';
const field = (id: string, label = id) => `  - { id: ${id}, label: ${label}, type: text }\n`;
const titled = (...fields: string[]) => `title: T\nfields:\n${fields.join('')}`;
const nameOf = ({ path }: Json) => path.replace('.form', '');

/** The rows of a form's file, without the first two columns. */
const rowsOf = async (path: string) => (await forms.csv(path)).map(row => row.slice(2));

const notices = async (type: string): Promise<Json[]> =>
  (await ada.client.get('/api/notifications?limit=200')).body.items.filter((one: Json) => one.type === type);

/** Notifications come by a job. */
async function noticed(type: string, { id }: Json): Promise<Json> {
  for (;;) {
    const found = (await notices(type)).find(({ data }) => data.form_id === id);
    if (found) return found;
    await new Promise(done => setTimeout(done, 50));
  }
}

describe('a field with a condition', () => {
  const VISIT = `title: Visit
fields:
  - { id: coming, label: Are you coming?, type: choice, required: true, options: [Yes, No] }
  - { id: meals, label: Meals, type: choices, required: true, options: [Lunch, Dinner], show_if: { field: coming, is: "Yes" } }
  - { id: diet, label: Diet, type: text, required: true, show_if: { field: meals } }
  - { id: menu, label: Menu, type: file, required: true, accept: [.pdf], show_if: { field: meals, is: Dinner } }
  - { id: why, label: Why not?, type: text, pattern: "[a-z ]+", pattern_message: Please write small letters., show_if: { field: coming, is: "No" } }
`;

  it('is asked while it holds, and neither required nor kept while it does not', async () => {
    const made = await forms.make(VISIT);
    const mistakes = async (fields: Json) => {
      const { status, text } = await forms.send(made, fields);
      return status === 422 ? [...text.matchAll(/<li><a href="#f-(\w+)">/g)].map(([, id]) => id) : status;
    };
    expect(await mistakes({})).toEqual(['coming']);
    expect(await mistakes({ coming: 'Yes' })).toEqual(['meals']);
    expect(await mistakes({ coming: 'Yes', meals: ['Lunch'] })).toEqual(['diet']);
    expect(await mistakes({ coming: 'Yes', meals: ['Lunch', 'Dinner'], diet: 'x' })).toEqual(['menu']);
    expect(await mistakes({ coming: 'No', meals: ['Dinner'], diet: 'dropped', why: 'ill' })).toBe(303);
    expect(await mistakes({ coming: 'Yes', meals: ['Lunch'], diet: 'none', why: 'DROPPED' })).toBe(303);
    await forms.written(made);
    expect(await rowsOf(`${nameOf(made)}.csv`)).toEqual([
      ['coming', 'meals', 'diet', 'menu', 'why'],
      ['No', '', '', '', 'ill'],
      ['Yes', 'Lunch', 'none', '', ''],
    ]);
  });

  it('keeps no files while it does not hold', async () => {
    const made = await forms.make(VISIT);
    const parts = {
      _ticket: forms.ticket(made),
      coming: 'No',
      'menu"; filename="m.pdf': 'PDF',
      'menu"; filename="m.exe': 'x',
    };
    const body = Object.entries(parts).map(
      ([name, value]) => `--XX\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
    );
    const headers = { 'content-type': 'multipart/form-data; boundary=XX' };
    const sent = await forms.visit(made.at, { method: 'POST', headers, body: `${body.join('')}--XX--\r\n` });
    expect(sent.status).toBe(303);
    await forms.written(made);
    const { items } = (await ada.client.get(`/api/forms/${made.id}/submissions`)).body;
    expect(items).toMatchObject([{ data: { coming: 'No' }, files: [] }]);
  });

  it('says of a pattern what the form says', async () => {
    const made = await forms.make(VISIT);
    const { text } = await forms.send(made, { coming: 'No', why: 'ILL' });
    expect(text).toContain('<a href="#f-why">Why not?: Please write small letters</a>');
    expect(text).toContain('Mistake: </span>Please write small letters.</p>');
  });
});

describe('the file for responses', () => {
  it('keeps its columns by the ids of fields: renamed, removed, added, and reordered by people', async () => {
    const made = await forms.make(titled(field('a', 'First'), field('b')));
    const csv = `${nameOf(made)}.csv`;
    await forms.send(made, { a: '1', b: '2' });
    await forms.written(made);
    await forms.write(made.path, titled(field('c'), field('a', 'Renamed')));
    await forms.send(made, { a: '3', b: 'not a field', c: '4' });
    await forms.written(made);
    expect(await rowsOf(csv)).toEqual([
      ['a', 'b', 'c'],
      ['1', '2', ''],
      ['3', '', '4'],
    ]);
    const [head = [], ...rows] = await forms.csv(csv);
    const turned = [[...head, 'note'].reverse(), ...rows.map(row => [...row, 'seen'].reverse())];
    await forms.write(csv, turned.map(row => row.join(',')).join('\n'));
    await forms.send(made, { a: '5', c: '6' });
    await forms.written(made);
    expect((await forms.csv(csv)).map(row => row.slice(0, 4))).toEqual([
      ['note', 'c', 'b', 'a'],
      ['seen', '', '2', '1'],
      ['seen', '4', '', '3'],
      ['', '6', '', '5'],
    ]);
  });

  it('is another one where its header cannot be read, and whole again after a rebuild', async () => {
    const made = await forms.make(ONE);
    const csv = `${nameOf(made)}.csv`;
    await forms.send(made, { name: 'first' });
    await forms.written(made);
    const whole = await forms.text(csv);
    await forms.write(csv, 'what,is,this\n');
    await forms.send(made, { name: 'second' });
    expect((await forms.written(made)).output).toBe(`${nameOf(made)}-2.csv`);
    expect(await rowsOf(`${nameOf(made)}-2.csv`)).toEqual([['name'], ['second']]);
    expect((await noticed('form.troubled', made)).body).toContain(
      `new responses go to ${nameOf(made)}-2.csv`,
    );
    await forms.write(csv, whole);
    const { status, body } = await ada.client.post(`/api/forms/${made.id}/rebuild`);
    expect([status, body.responses]).toEqual([200, 2]);
    expect((await forms.written(made)).output).toBe(csv);
    expect(await rowsOf(csv)).toEqual([['name'], ['first'], ['second']]);
  });

  it('that Excel saved keeps its line ends and BOM, and no response twice', async () => {
    const made = await forms.make(ONE);
    const csv = `${nameOf(made)}.csv`;
    await forms.send(made, { name: 'first' });
    await forms.written(made);
    const saved = `\uFEFF${(await forms.text(csv)).replaceAll(',', ';').replaceAll('\n', '\r\n')}`;
    await forms.write(csv, saved);
    await forms.send(made, { name: 'second' });
    await forms.written(made);
    await forms.send(made, { name: 'third' });
    await forms.written(made);
    const rows =
      /^\uFEFFsubmission_id;submitted_at;name\r\n[^\r\n]+;first\r\n[^\r\n]+;second\r\n[^\r\n]+;third\r\n$/;
    const bytes = async () => (await forms.bytes(csv)).toString();
    expect(await bytes()).toMatch(rows);
    await ada.client.post(`/api/forms/${made.id}/rebuild`);
    await forms.written(made);
    expect(await bytes()).toMatch(rows);
  });

  it('has no formulas; JSON has what was written', async () => {
    const made = await forms.make(
      'title: T\nfields:\n  - { id: a, label: A, type: text }\n  - { id: n, label: N, type: number }\n',
    );
    await forms.send(made, { a: '=HYPERLINK("x")', n: '-5' });
    await forms.written(made);
    expect(await rowsOf(`${nameOf(made)}.csv`)).toEqual([
      ['a', 'n'],
      [`'=HYPERLINK("x")`, '-5'],
    ]);
    const exported = (query: string) => ada.client.raw('GET', `/api/forms/${made.id}/export?${query}`);
    expect(await (await exported('format=json')).json()).toMatchObject([{ a: '=HYPERLINK("x")', n: -5 }]);
    const csv = await exported('headers=label');
    expect(csv.headers.get('content-disposition')).toContain('attachment');
    expect(await csv.text()).toMatch(/^submission_id,submitted_at,A,N\n.*,"'=HYPERLINK\(""x""\)",-5\n$/);
  });

  it('has numbers with all their digits, from the page and as JSON', async () => {
    const made = await forms.make(
      'title: T\nfields:\n  - { id: n, label: N, type: number, max: 9000000000000000000 }\n',
    );
    await forms.send(made, { n: '8202522731445525542' });
    const asJson = `{"ticket":"${forms.ticket(made)}","values":{"n":8202522731445525543}}`;
    const { status } = await forms.visit(made.at, {
      method: 'POST',
      body: asJson,
      headers: { 'content-type': 'application/json' },
    });
    expect(status).toBe(200);
    expect((await forms.send(made, { n: '9202522731445525542' })).status).toBe(422);
    await forms.written(made);
    const rows = await rowsOf(`${nameOf(made)}.csv`);
    expect(rows.slice(1).flat().toSorted()).toEqual(['8202522731445525542', '8202522731445525543']);
    const exported = await ada.client.raw('GET', `/api/forms/${made.id}/export?format=json`);
    expect(await exported.text()).toMatch(/"n": ?8202522731445525542\b/);
    const { body } = await ada.client.get(`/api/forms/${made.id}/submissions`);
    expect(JSON.stringify(body)).toContain('"n":8202522731445525543');
  });

  it('has telephone numbers as they were typed, and choices that can be told apart', async () => {
    const made = await forms.make(
      `title: T
fields:
  - { id: p, label: Phone, type: phone }
  - { id: t, label: Text, type: text }
  - { id: c, label: Courses, type: choices, options: ["a; b", 'say "c"', d] }
`,
    );
    await forms.send(made, { p: '+49 (30) 1234-5', t: '+49 30', c: ['a; b', 'say "c"', 'd'] });
    await forms.written(made);
    const cells = ['+49 (30) 1234-5', "'+49 30", '"a; b"; "say ""c"""; d'];
    expect(await rowsOf(`${nameOf(made)}.csv`)).toEqual([['p', 't', 'c'], cells]);
    expect((await forms.send(made, { p: '+1;=cmd|x' })).status).toBe(422);
    const exported = async (query: string) =>
      Buffer.from(
        await (await ada.client.raw('GET', `/api/forms/${made.id}/export${query}`)).arrayBuffer(),
      ).toString();
    const plain = await exported('');
    expect(parse(plain).at(-1)?.slice(2)).toEqual(cells);
    expect(await exported('?bom=true')).toBe(`\uFEFF${plain}`);
    // What was handed in before the field became one for telephone numbers.
    await forms.write(made.path, 'title: T\nfields:\n  - { id: t, label: Text, type: text }\n');
    await forms.send(made, { t: '=1+1' });
    await forms.written(made);
    await forms.write(made.path, 'title: T\nfields:\n  - { id: t, label: Text, type: phone }\n');
    expect(parse(await exported('')).at(-1)).toContain("'=1+1");
  });

  it('waits while the workspace is full; nothing is lost, and its owner is told once', async () => {
    const made = await forms.make(ONE);
    const quota = service.app.get(WorkspaceQuota, { strict: false });
    const { during } = quota;
    quota.during = async () => {
      throw new NoRoom(413, 'full');
    };
    try {
      expect((await forms.send(made, { name: 'kept' })).status).toBe(303);
      expect((await noticed('form.troubled', made)).body).toContain('The workspace is full');
      await forms.send(made, { name: 'too' });
      expect(await forms.read(made)).toMatchObject({ waiting: 2, trouble: expect.stringContaining('full') });
      expect((await ada.client.delete(`/api/forms/${made.id}`)).status).toBe(409);
      const query = `select retry_at < now() + interval '20 seconds' as soon from form where id = $1`;
      let soon: unknown = null;
      while (soon === null) soon = (await service.database.query<Json>(query, [made.id]))[0]?.soon;
      expect(soon).toBe(true);
    } finally {
      quota.during = during;
    }
    // Nobody has to say that there is room again.
    expect(await forms.written(made)).toMatchObject({ trouble: null });
    expect(await rowsOf(`${nameOf(made)}.csv`)).toEqual([['name'], ['kept'], ['too']]);
    expect((await notices('form.troubled')).filter(({ data }) => data.form_id === made.id)).toHaveLength(1);
  });

  it('is written to by the form, as the log of changes has it', async () => {
    const made = await forms.make(ONE);
    await forms.send(made, { name: 'x' });
    await forms.written(made);
    const rows = await service.database.query<Json>(
      'select distinct writer_type, writer_id from workspace_change where workspace_id = $1 and path = $2',
      [forms.workspace, `${nameOf(made)}.csv`],
    );
    expect(rows).toEqual([{ writer_type: 'form', writer_id: made.id }]);
    expect((await noticed('form.submitted', made)).title).toBe('A response to “One”');
  });
});

describe('what is handed in', () => {
  const HOUR_MS = 3_600_000;
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('twice is kept once, with the same answer', async () => {
    const made = await forms.make(ONE);
    const ticket = forms.ticket(made);
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => forms.send(made, { name: 'x' }, ticket)),
    );
    expect(new Set(answers.map(({ status, headers }) => `${status} ${headers.location}`))).toEqual(
      new Set([`303 ${made.at}/done`]),
    );
    expect((await forms.written(made)).responses).toBe(1);
    expect(await rowsOf(`${nameOf(made)}.csv`)).toHaveLength(2);
  });

  it('by programs is kept as spam, which editors accept or delete', async () => {
    const made = await forms.make(ONE);
    const [, decoy = ''] =
      /<input id="([\w]+)" name="\1" type="text" tabindex="-1"/.exec((await forms.visit(made.at)).text) ?? [];
    expect(decoy).toMatch(/_[0-9a-f]{8}$/);
    // However slow this machine is, three seconds are not over.
    expect((await forms.send(made, { name: 'fast' }, forms.ticket(made, -HOUR_MS))).status).toBe(303);
    const { issue } = Tickets.prototype;
    jest.spyOn(Tickets.prototype, 'issue').mockImplementationOnce(function (this: Tickets, id) {
      return issue.call(this, id, Date.now() + HOUR_MS);
    });
    const [, ticket = ''] = /name="_ticket" value="([^"]+)"/.exec((await forms.visit(made.at)).text) ?? [];
    expect((await forms.send(made, { name: 'now' }, ticket)).status).toBe(303);
    expect(await forms.read(made)).toMatchObject({ responses: 0, spam: 2 });
    const list = () => ada.client.get(`/api/forms/${made.id}/submissions?state=spam`);
    const [first, second] = (await list()).body.items;
    expect(first).toMatchObject({ reason: 'It was sent within three seconds', data: { name: 'fast' } });
    const one = `/api/forms/${made.id}/submissions/${first.id}`;
    expect((await ada.client.post(`${one}/accept`)).status).toBe(200);
    expect((await ada.client.post(`${one}/accept`)).status).toBe(409);
    expect((await ada.client.delete(`/api/forms/${made.id}/submissions/${second.id}`)).status).toBe(200);
    await forms.written(made);
    expect(await rowsOf(`${nameOf(made)}.csv`)).toEqual([['name'], ['fast']]);
    expect((await list()).body.items).toEqual([]);
  });

  it('with a forged, an old or a foreign ticket is to be sent again', async () => {
    const [made, other] = [await forms.make(ONE), await forms.make(ONE)];
    for (const ticket of [
      '',
      'x',
      forms.ticket(made).replace(/^./, first => (first === 'a' ? 'b' : 'a')),
      forms.ticket(other),
      forms.ticket(made, 25 * 3_600_000),
    ]) {
      const { status, text } = await forms.send(made, { name: 'kept' }, ticket);
      expect([ticket, status]).toEqual([ticket, 422]);
      expect(text).toContain('value="kept"');
    }
    expect((await forms.read(made)).responses).toBe(0);
  });

  it('needs work where the form asks for it; a challenge is good for one form, once', async () => {
    const [made, other] = [
      await forms.make(`${ONE}protection: pow\n`),
      await forms.make(`${ONE}protection: pow\n`),
    ];
    const solved = async ({ at }: Json) => {
      const challenge = JSON.parse((await forms.visit(`${at}/challenge?of=widget`)).text);
      const solution = await solveChallenge({ challenge, deriveKey });
      return Buffer.from(JSON.stringify({ challenge, solution })).toString('base64');
    };
    const send = async (_proof: string) => (await forms.send(made, { name: 'x', _proof })).status;
    expect(await send('')).toBe(422);
    const proof = await solved(made);
    const changed = JSON.parse(Buffer.from(proof, 'base64').toString());
    changed.challenge.parameters.expiresAt += 3600;
    expect(await send(Buffer.from(JSON.stringify(changed)).toString('base64'))).toBe(422);
    expect(await send(await solved(other))).toBe(422);
    expect(await Promise.all([send(proof), send(proof)])).toEqual(expect.arrayContaining([303, 422]));
    expect(await send(proof)).toBe(422);
    expect((await forms.read(made)).responses).toBe(1);
  });

  it('needs work after many in a short time', async () => {
    const made = await forms.make(ONE);
    await service.database.query(
      `insert into form_submission (id, form_id, submission_key, data, state, address_hash)
       select gen_random_uuid(), $1, n::text, '{}', 'spam', 'x' from generate_series(1, 30) n`,
      [made.id],
    );
    expect((await forms.visit(made.at)).text).toContain('<altcha-widget');
    expect((await forms.send(made, { name: 'x' })).status).toBe(422);
  });

  it('comes with files, whose names are safe, and which no link shows', async () => {
    const made = await forms.make(
      `${ONE}  - { id: cv, label: CV, type: file, accept: [.pdf], max_files: 2 }\n`,
    );
    const part = (head: string, content: string) =>
      `--XX\r\nContent-Disposition: form-data; ${head}\r\n\r\n${content}\r\n`;
    const send = (...files: [string, string][]) =>
      forms.visit(made.at, {
        method: 'POST',
        headers: { 'content-type': 'multipart/form-data; boundary=XX' },
        body: [
          part('name="_ticket"', forms.ticket(made)),
          part('name="name"', 'Ada'),
          ...files.map(([name, content]) => part(`name="cv"; filename="${name}"`, content)),
          '--XX--\r\n',
        ].join(''),
      });
    expect((await send(['a.exe', 'x'])).text).toContain('This takes only .pdf');
    expect((await send(['1.pdf', 'x'], ['2.pdf', 'x'], ['3.pdf', 'x'])).text).toContain(
      'This takes at most 2 files',
    );
    expect((await send(['big.pdf', 'x'.repeat(11_000_000)])).status).toBe(413);
    expect((await send(['../../a\u202eb.pdf', 'one'], ['cv.pdf', 'two'])).status).toBe(303);
    await forms.written(made);
    const { items } = (await ada.client.get(`/api/forms/${made.id}/submissions`)).body;
    expect(items).toHaveLength(1);
    const paths = items[0].files.map(({ path }: Json) => path);
    expect(paths).toEqual(['a_b.pdf', 'cv.pdf'].map(name => `${nameOf(made)}.files/${items[0].id}/${name}`));
    expect(await Promise.all(paths.map((path: string) => forms.text(path)))).toEqual(['one', 'two']);
    expect((await rowsOf(`${nameOf(made)}.csv`)).at(-1)).toEqual(['Ada', paths.join('; ')]);
    expect((await forms.visit(`${made.at}/${paths[0]}`)).status).toBe(404);
  });
});

describe('a form ends', () => {
  it.each([
    ['with its time', `${ONE}closes_at: 2020-01-01T00:00:00Z\n`, {}],
    ['while it is paused', ONE, { paused: true }],
  ])('%s', async (_how, text, changes) => {
    const made = await forms.make(text);
    if ('paused' in changes) await ada.client.patch(`/api/forms/${made.id}`, changes);
    expect((await forms.visit(made.at)).status).toBe(410);
    expect((await forms.send(made, { name: 'late' })).status).toBe(410);
    expect((await forms.read(made)).responses).toBe(0);
  });

  it('with as many responses as it takes, also when more come at once', async () => {
    const made = await forms.make(`${ONE}max_responses: 3\n`);
    const sent = await Promise.all(Array.from({ length: 12 }, (_, n) => forms.send(made, { name: `${n}` })));
    expect(sent.filter(({ status }) => status === 303)).toHaveLength(3);
    expect(await forms.written(made)).toMatchObject({ responses: 3, state: 'closed' });
  });

  it('while its file has mistakes or is gone: its owner is told where, visitors see nothing of it', async () => {
    const made = await forms.make(ONE);
    await forms.write(made.path, `${ONE}secret_note: hidden\n`);
    const page = await forms.visit(made.at);
    expect([page.status, page.text.includes('secret_note')]).toEqual([503, false]);
    expect(page.text).toContain('<h1>One</h1>');
    expect((await noticed('form.troubled', made)).body).toContain(
      `${made.path}, line 4: "secret_note" is not a known key`,
    );
    expect(await forms.read(made)).toMatchObject({
      state: 'broken',
      problem: expect.stringContaining('line 4'),
    });
    await forms.write(made.path, ONE);
    expect((await forms.visit(made.at)).status).toBe(200);
    await ada.client.delete(`/api/workspaces/${forms.workspace}/files?path=${made.path}`);
    expect((await forms.visit(made.at)).status).toBe(503);
    await forms.write('elsewhere.form', ONE);
    expect((await ada.client.patch(`/api/forms/${made.id}`, { path: 'elsewhere.form' })).body.state).toBe(
      'open',
    );
    expect((await forms.visit(made.at)).status).toBe(200);
  });

  it('when it is deleted, its link was rotated, sharing is off, or who shared it has gone', async () => {
    const bob = await service.person('Bob');
    await service.join(bob, {
      organization: ada.organizationId,
      role: 'guest',
      workspace: forms.workspace,
      workspaceRole: 'editor',
    });
    await forms.write('bobs.form', ONE);
    const { body } = await bob.client.post(`/api/workspaces/${forms.workspace}/forms/share`, {
      path: 'bobs.form',
    });
    const at = new URL(body.url).pathname;
    expect((await forms.visit(at)).status).toBe(200);
    const features = (sharing: boolean) =>
      ada.client.patch(`/api/workspaces/${forms.workspace}/features`, { sharing });
    expect((await features(false)).status).toBe(200);
    expect((await forms.visit(at)).status).toBe(404);
    await features(true);
    const rotated = await ada.client.patch(`/api/forms/${body.id}`, { rotate: true });
    expect((await forms.visit(at)).status).toBe(404);
    const now = new URL(rotated.body.url).pathname;
    expect((await forms.visit(now)).status).toBe(200);
    await service.join(bob, {
      organization: ada.organizationId,
      role: 'guest',
      workspace: forms.workspace,
      workspaceRole: 'viewer',
    });
    // The role was changed behind the service's back, which is told of it.
    while ((await forms.visit(now)).status !== 404) await new Promise(done => setTimeout(done, 20));
    expect((await ada.client.delete(`/api/forms/${body.id}`)).status).toBe(200);
    expect((await forms.visit(now)).status).toBe(404);
  });
});

it('is listed among what is reachable from outside, and ended from there; other tenants see nothing', async () => {
  const made = await forms.make(ONE, { password: 'open sesame' });
  const exposed = `/api/share/exposed?limit=200&organization_id=${ada.organizationId}`;
  const found = (await ada.client.get(exposed)).body.items.find(({ id }: Json) => id === made.id);
  expect(found).toMatchObject({ kind: 'form', name: made.path, protection: 'password', allow: 'upload' });
  const eve = await service.person('Eve');
  for (const path of ['', '/submissions', '/export'])
    expect((await eve.client.get(`/api/forms/${made.id}${path}`)).status).toBe(404);
  expect((await eve.client.get(`/api/workspaces/${forms.workspace}/forms`)).status).toBe(404);
  expect((await forms.visit(made.at)).status).toBe(401);
  expect((await forms.send(made, { name: 'x' })).status).toBe(401);
  expect((await ada.client.delete(found.revoke_path)).status).toBe(200);
  expect((await forms.visit(made.at)).status).toBe(404);
});

it('what is old goes, and what is needed stays', async () => {
  const made = await forms.make(`${ONE}max_responses: 2\n`);
  await forms.send(made, { name: 'old' });
  await forms.written(made);
  await service.database.query(
    "update form_submission set written_at = now() - interval '31 days' where form_id = $1",
    [made.id],
  );
  await service.app.get(FormRetention, { strict: false }).run();
  expect((await forms.read(made)).responses).toBe(0);
  await forms.send(made, { name: 'new' });
  expect((await forms.send(made, { name: 'one too many' })).status).toBe(410);
});
