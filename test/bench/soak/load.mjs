/** What a soak does to the service all the time, and what it has to find true of it. */
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const RUN_EVERY_MS = 600;
const HOOK_EVERY_MS = 1000;
const UPLOAD_EVERY_MS = 20_000;
const LOOK_EVERY_MS = 2000;
const UPLOAD_BYTES = 50 * 1024 * 1024;
const PATIENCE_MS = 180_000;
/** How long after the end of a worker its scripts are taken for lost. */
const LOST_MS = 60_000;
/** Tells in a file that it began, takes a moment, and tells that it ended. */
const HOOK = `---
run: bash
on:
  - webhook: { verify: token }
concurrency: { policy: parallel, max: 10 }
pause_after: off
---
name=$(grep -o 'hook-[0-9a-f-]*' "$ATELIER_INPUT" | head -1)
echo "began $name" >> hooked.txt
sleep 1
echo "ended $name" >> hooked.txt
`;

export class Load {
  /** What went wrong that no repetition could mend. */
  faults = [];
  texts = [];
  calls = [];
  /** Names of the webhooks that were accepted. */
  hooks = [];
  /** When workers were ended at once, with what they ran. */
  killedAt = [];
  uploads = { whole: 0, cut: 0, refused: 0, wrong: 0 };
  searches = { right: 0, wrong: 0 };
  visits = { right: 0, wrong: 0 };
  underWay = new Set();
  timers = [];
  turn = 0;

  constructor(apis, { api_key, workspace_id }) {
    Object.assign(this, { apis, api_key, workspace_id });
    this.files = `/api/workspaces/${workspace_id}/files`;
  }

  /** Makes what is shared and searched, then begins. */
  async begin() {
    this.shared = `shared ${randomUUID()}`;
    await this.persist('PUT', `${this.files}/content`, { path: 'shared/page.txt', content: this.shared });
    const link = await this.persist('POST', '/api/share', {
      workspace_id: this.workspace_id,
      path: 'shared',
      allow: 'download',
    });
    this.link = new URL(link.url);
    this.linkId = link.id;
    await this.deploy();
    this.every(RUN_EVERY_MS, () => this.run());
    this.every(HOOK_EVERY_MS, () => this.hook());
    this.every(UPLOAD_EVERY_MS, () => this.upload(this.turn++ % 2 === 1));
    this.every(LOOK_EVERY_MS, () => this.search());
    this.every(LOOK_EVERY_MS, () => this.visit());
  }

  /** No more begins; resolves when all has ended. */
  async end() {
    for (const timer of this.timers) clearInterval(timer);
    await Promise.all(this.underWay);
  }

  every(ms, work) {
    const one = () => {
      const running = work().catch(error => this.faults.push(error.message));
      this.underWay.add(running);
      void running.finally(() => this.underWay.delete(running));
    };
    this.timers.push(setInterval(one, ms));
  }

  /** Asks one api after the other, with the same key, until the request is answered for good. */
  async persist(method, address, body) {
    const headers = {
      'x-api-key': this.api_key,
      'content-type': 'application/json',
      'idempotency-key': randomUUID(),
    };
    const until = Date.now() + PATIENCE_MS;
    for (let turn = Math.floor(Math.random() * 2); Date.now() < until; turn++) {
      try {
        const init = { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) };
        const response = await fetch(`${this.apis[turn % this.apis.length].url}${address}`, init);
        const text = await response.text();
        if (response.ok) return JSON.parse(text);
        const isPassing = response.status >= 500 || response.headers.has('retry-after');
        if (!isPassing)
          throw Object.assign(new Error(`${address}: ${response.status} ${text}`), { final: true });
      } catch (error) {
        if (error.final) throw error;
      }
      await sleep(300);
    }
    throw new Error(`${method} ${address} was not answered in ${PATIENCE_MS / 1000} s`);
  }

  async run() {
    const message = `soak ${randomUUID()}`;
    this.texts.push(message);
    const body = { workspace_id: this.workspace_id, message, model: 'local/fake' };
    const { call_id } = await this.persist('POST', '/api/agent/message', body);
    this.calls.push(call_id);
    for (;;) {
      const { status } = await this.persist('GET', `/api/agent/status/${call_id}?wait=30`);
      if (status !== 'pending') return;
    }
  }

  async deploy() {
    const file_path = 'automations/hooked.md';
    await this.persist('PUT', `${this.files}/content`, { path: file_path, content: HOOK });
    const at = { workspace_id: this.workspace_id, file_path };
    const { secrets } = await this.persist('POST', '/api/automation/deployments', at);
    this.hookPath = new URL(secrets[0].url).pathname;
  }

  async hook() {
    const name = `hook-${randomUUID()}`;
    await this.persist('POST', this.hookPath, { name });
    this.hooks.push(name);
  }

  async upload(cutOff) {
    const name = `${randomUUID()}.bin`;
    const address = `${this.apis[this.turn % this.apis.length].url}${this.files}/upload?path=${name}`;
    const block = Buffer.alloc(1024 * 1024, 7);
    async function* bytes() {
      for (let sent = 0; sent < UPLOAD_BYTES; sent += block.length) {
        if (cutOff && sent > UPLOAD_BYTES / 2) throw new Error('cut off');
        yield block;
      }
    }
    const init = { method: 'PUT', headers: { 'x-api-key': this.api_key }, body: bytes(), duplex: 'half' };
    const answered = await fetch(address, init).catch(() => undefined);
    const isWhole = answered?.ok === true;
    this.uploads[isWhole ? 'whole' : answered ? 'refused' : 'cut']++;
    const entry = await this.persist('GET', `${this.files}/stat?path=${name}`).catch(() => undefined);
    if (isWhole ? entry?.size !== UPLOAD_BYTES : entry && entry.size !== UPLOAD_BYTES) this.uploads.wrong++;
    if (entry) await this.persist('DELETE', `${this.files}?path=${name}`).catch(() => undefined);
  }

  /** What was written is found, there and nowhere else, and no more once it is deleted. */
  async search() {
    const word = randomUUID();
    const path = `found/${word}.txt`;
    const find = () => this.persist('GET', `/api/workspaces/${this.workspace_id}/search?q=${word}`);
    await this.persist('PUT', `${this.files}/content`, { path, content: `one\n${word}\n` });
    const { items } = await find();
    await this.persist('DELETE', `${this.files}?path=${path}`).catch(error => {
      // Deleted by a request whose answer was lost.
      if (!error.message.includes(' 404 ')) throw error;
    });
    const left = await find();
    const isRight =
      items.length === 1 && items[0].path === path && items[0].line === 2 && left.items.length === 0;
    this.searches[isRight ? 'right' : 'wrong']++;
  }

  /** A visitor of the link, without a credential: the page of the folder, and the file as it is. */
  async visit() {
    const until = Date.now() + PATIENCE_MS;
    for (let turn = this.visits.right; Date.now() < until; turn++) {
      try {
        const api = this.apis[turn % this.apis.length].url;
        const page = await this.get(api, this.link.pathname);
        const file = await this.get(api, `${this.link.pathname}/path/page.txt?download=1`);
        if (page.status >= 500 || file.status >= 500) throw new Error(`${page.status} ${file.status}`);
        const isRight = page.text.includes('page.txt') && file.status === 200 && file.text === this.shared;
        this.visits[isRight ? 'right' : 'wrong']++;
        return;
      } catch {
        await sleep(300);
      }
    }
    throw new Error('the share link was not answered');
  }

  /** By the name of the share host, which need not resolve here. */
  get(api, path) {
    const { hostname, port } = new URL(api);
    const options = { hostname, port, path, headers: { host: `${this.link.hostname}:${port}` } };
    return new Promise((resolve, reject) => {
      const sent = http.get(options, answer => {
        let text = '';
        answer.setEncoding('utf8');
        answer.on('data', chunk => (text += chunk));
        answer.once('error', reject);
        answer.once('end', () => resolve({ status: answer.statusCode, text }));
      });
      sent.once('error', reject);
    });
  }

  /** Webhooks without a run, with several, or whose script began twice or did not end although nothing ended its worker at once. */
  async judgeHooks(query) {
    const until = Date.now() + PATIENCE_MS;
    const open = () => query("select id from automation_run where state <> 'done'");
    while ((await open()).length > 0 && Date.now() < until) await sleep(500);
    const runs = await query('select status, stop_reason, error, finished_at from automation_run');
    const isLost = ({ stop_reason, finished_at }) =>
      stop_reason === 'worker_lost' &&
      this.killedAt.some(at => finished_at.getTime() >= at && finished_at.getTime() < at + LOST_MS);
    const failed = runs.filter(run => run.status !== 'completed');
    const unexplained = failed.filter(run => !isLost(run));
    const { content } = await this.persist('GET', `${this.files}/content?path=hooked.txt`);
    const counts = new Map();
    for (const line of content.split('\n')) counts.set(line, (counts.get(line) ?? 0) + 1);
    const times = word => this.hooks.map(name => counts.get(`${word} ${name}`) ?? 0);
    const doubled = times('began').filter(n => n > 1).length;
    const unbegun = times('began').filter(n => n === 0).length;
    const unended = times('ended').filter(n => n === 0).length;
    const odd = Math.abs(runs.length - this.hooks.length) + Math.max(0, unended - failed.length);
    const left = (await open()).length;
    return {
      line: `${this.hooks.length} webhooks; runs ${runs.length}, begun twice ${doubled}, never begun ${unbegun}, not ended ${left}, lost with a killed worker ${failed.length - unexplained.length}, failed otherwise ${unexplained.length}`,
      wrong: odd + doubled + unbegun + left + unexplained.length,
      faults: unexplained.map(({ stop_reason, error }) => `a webhook's script: ${stop_reason}: ${error}`),
    };
  }

  /** What was lost, doubled or is wrong, as lines of a report; and how much that is. */
  async judge(query, brokenInvariants) {
    const stored = await query(
      "select content -> 0 ->> 'text' as text, count(*)::int as n from message where role = 'user' group by 1",
    );
    const counts = new Map(stored.map(({ text, n }) => [text, n]));
    const lost = this.texts.filter(text => !counts.has(text)).length;
    const doubled = this.texts.filter(text => counts.get(text) > 1).length;
    const open = await query("select id from run where id = any($1::uuid[]) and status <> 'completed'", [
      this.calls,
    ]);
    const broken = await brokenInvariants({ query });
    const gaps = Object.values(broken).flat().length;
    const { uploads, searches, visits, faults } = this;
    const hooks = await this.judgeHooks(query);
    const { views } = await this.persist('GET', `/api/share/${this.linkId}`);
    const wrong = uploads.wrong + searches.wrong + visits.wrong;
    const lines = [
      `${this.texts.length} messages; lost ${lost}, doubled ${doubled}, not completed ${open.length}, gaps ${gaps}`,
      hooks.line,
      `uploads: ${uploads.whole} whole, ${uploads.cut} cut off, ${uploads.refused} refused, ${uploads.wrong} wrong`,
      `searches: ${searches.right} right, ${searches.wrong} wrong; visits: ${visits.right} right, ${visits.wrong} wrong (${views} views counted); other faults ${faults.length}`,
      ...Object.entries(broken).map(([rule, ids]) => `not so: ${rule}: ${ids.slice(0, 3)}`),
      ...[...new Set([...faults, ...hooks.faults])].slice(0, 5),
    ];
    return { lines, wrong: lost + doubled + open.length + gaps + wrong + hooks.wrong + faults.length };
  }
}
