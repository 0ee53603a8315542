import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { EgressSockets } from '../../../src/workspaces/egress/index.js';
import type { Json } from '../../harness/client.js';
import { type Person, TestService } from '../../harness/service.js';
import { Sites } from '../../harness/sites.js';

/** A host of the internet, and what it was asked for. */
let standIn: Server;
let origin: string;
const asked: string[] = [];

let service: TestService | undefined;
let ada: Person;
let sites: Sites;

beforeAll(async () => {
  standIn = createServer(({ url = '' }, response) => {
    asked.push(url);
    response.end(`this is ${url}`);
  }).listen(0);
  await once(standIn, 'listening');
  origin = `http://localhost:${(standIn.address() as AddressInfo).port}`;
});
afterAll(() => {
  standIn.close();
});
beforeEach(() => {
  asked.length = 0;
});
afterEach(async () => {
  await service?.stop();
  service = undefined;
});

async function begin(environment: Record<string, string>, isPublic = true): Promise<void> {
  service = await TestService.start(environment);
  takeFor(isPublic, service, Number(new URL(origin).port));
  ada = await service.person();
  sites = await Sites.in(service, ada);
}

/** This machine stands for the internet, or for a private network: its own address, at the port of the stand-in, may be connected to or not. */
function takeFor(isPublic: boolean, { app }: TestService, port: number): void {
  const sockets = app.get(EgressSockets, { strict: false });
  const open = sockets.open.bind(sockets);
  const everywhere = { hosts: [], advice: '', withWorkspace: true };
  sockets.open = (use, list = everywhere) => open(use, { ...list, ports: [port], allows: () => isPublic });
}

const allow = async (rule: Json): Promise<void> => {
  const { status } = await ada.client.patch(`/api/workspaces/${sites.workspace}/egress`, rule);
  expect(status).toBe(200);
};

/** Asks the way out of a sandbox for an address, where there is one; prints what it answers. */
const ask = (address: string): string => {
  const { host } = new URL(address);
  const request = `GET ${address} HTTP/1.1\\r\\nHost: ${host}\\r\\nConnection: close\\r\\n\\r\\n`;
  return `(exec 3<>/dev/tcp/127.0.0.1/3128 && printf '${request}' >&3 && cat <&3) 2>/dev/null || echo no way out`;
};

/** What both steps of a build got: the first prints it, the second makes a page of it. */
async function built(): Promise<{ install: string; build: string }> {
  const site = await sites.make(
    { 'package.json': JSON.stringify({ scripts: { build: 'true' } }) },
    {
      install_command: `${ask(`${origin}/install`)}; echo`,
      build_command: `mkdir dist; (${ask(`${origin}/build`)}) > dist/index.html`,
    },
  );
  const version = await sites.publish(site);
  expect([version.state, version.error]).toEqual(['live', null]);
  const [, install = ''] = (await sites.log(version)).split(/^\$ .*$/m);
  return { install, build: await sites.shown(site) };
}

/** A site whose build runs `command` and installs nothing. */
const siteOf = (command: string): Promise<Json> =>
  sites.make({ 'package.json': JSON.stringify({ scripts: { build: 'true' } }) }, { build_command: command });

/** What a command of the workspace prints. */
async function printed(command: string): Promise<string> {
  const { body } = await ada.client.post(`/api/workspaces/${sites.workspace}/tools/bash`, {
    input: { command },
  });
  return body.output;
}

it('with SITE_BUILD_EGRESS=workspace a build reaches the hosts that an admin lists, while they are listed', async () => {
  await begin({ SITE_BUILD_EGRESS: 'workspace' });
  const closed = await built();
  expect(closed.install).toMatch(/HTTP\/1\.1 403 [\s\S]*localhost is not one of the hosts/);
  expect([closed.build, asked]).toEqual(['no way out\n', []]);

  await allow({ mode: 'allow', hosts: ['localhost'] });
  const open = await built();
  expect(open.install).toMatch(/HTTP\/1\.1 200 [\s\S]*this is \/install/);
  expect(open.build).toMatch(/^HTTP\/1\.1 200 [\s\S]*this is \/build$/);
  expect(asked).toEqual(['/install', '/build']);

  await allow({ hosts: ['other.example'] });
  const refused = await sites.publish(await siteOf(`${ask(`${origin}/refused`)}; exit 3`));
  expect(refused.state).toBe('failed');
  expect(refused.error).toMatch(
    /^The build needs the network .*localhost is not one of the hosts .*an admin of the workspace adds it to hosts, with mode allow, by PATCH/,
  );

  await allow({ mode: 'none' });
  expect((await built()).build).toBe('no way out\n');
  expect(asked).toEqual(['/install', '/build']);
});

it('with SITE_BUILD_EGRESS=registries a build reaches nothing of it, though commands of the workspace do', async () => {
  await begin({ SITE_BUILD_EGRESS: 'registries' });
  await allow({ mode: 'allow', hosts: ['localhost'] });
  expect(await printed(ask(`${origin}/command`))).toContain('this is /command');
  const { install, build } = await built();
  expect(install).toMatch(/HTTP\/1\.1 403 [\s\S]*localhost is not one of the hosts/);
  expect([build, asked]).toEqual(['no way out\n', ['/command']]);
});

it('an installation ends when its registry leads to a private address, and its log says how that is allowed', async () => {
  await begin({ SITE_BUILD_REGISTRIES: `${origin}/` }, false);
  const site = await sites.make(
    { 'package.json': JSON.stringify({ scripts: { build: 'true' } }) },
    // As npm does, for each of thousands of packages.
    { install_command: `while true; do ${ask(`${origin}/package`)}; sleep 0.1; done` },
  );
  const version = await sites.publish(site);
  const refusal =
    'localhost leads to an address that is not one of the public internet. An operator of this installation names registries in SITE_BUILD_REGISTRIES.';
  expect(version).toMatchObject({
    state: 'failed',
    error: `The installation of the dependencies was ended. ${refusal}`,
  });
  const said = (await sites.log(version)).split('\n').filter(line => line === refusal);
  expect(said).not.toEqual([]);
});

it('with SITE_BUILD_EGRESS=none a build reaches nothing at all', async () => {
  await begin({ SITE_BUILD_EGRESS: 'none' });
  await allow({ mode: 'allow', hosts: ['localhost'] });
  const site = await siteOf(`mkdir dist; (${ask(`${origin}/build`)}) > dist/index.html`);
  expect(await sites.publish(site)).toMatchObject({ state: 'live', error: null });
  expect([await sites.shown(site), asked]).toEqual(['no way out\n', []]);
});
