import { describe, expect, it } from '@jest/globals';
import { Config } from '../../platform/config/index.js';
import type { EgressList, EgressSockets } from '../../workspaces/egress/index.js';
import { BuildEgress } from './build-egress.js';

/** `hosts`: those of the workspace. */
function egress(environment: Record<string, string> = {}, hosts: string[] = []): BuildEgress {
  const sockets = {
    reachable: async (_id: string, list: EgressList) => [...list.hosts, ...(list.withWorkspace ? hosts : [])],
  };
  return new BuildEgress(Config.from(environment), sockets as unknown as EgressSockets);
}

describe('what builds connect to', () => {
  it('is the public registry while dependencies are installed, and nothing afterwards', () => {
    const reached = egress();
    const list = reached.forInstall();
    expect(list).toMatchObject({
      hosts: ['registry.npmjs.org', 'registry.yarnpkg.com'],
      ports: [443, 80],
      withWorkspace: false,
    });
    expect([
      list.allows?.('1.1.1.1', 'registry.npmjs.org'),
      list.allows?.('10.0.0.1', 'registry.npmjs.org'),
    ]).toEqual([true, false]);
    expect([reached.forBuild(), reached.defaultRegistry]).toEqual([undefined, 'https://registry.npmjs.org/']);
  });

  it('is the registries of the operator, private ones too, at their addresses alone', () => {
    const reached = egress({ SITE_BUILD_REGISTRIES: 'https://npm.corp.example:8443/npm, http://10.1.2.3' });
    const { hosts, ports, allows } = reached.forInstall();
    expect([hosts, ports]).toEqual([
      ['npm.corp.example', '10.1.2.3'],
      [443, 80, 8443],
    ]);
    expect(reached.defaultRegistry).toBe('https://npm.corp.example:8443/npm/');
    expect([allows?.('10.9.9.9', 'npm.corp.example'), allows?.('10.9.9.9', 'other.example')]).toEqual([
      true,
      false,
    ]);
    expect(allows?.('169.254.169.254', 'npm.corp.example')).toBe(false);
  });

  it('is what admins of the workspace list, where the operator says so', async () => {
    const reached = egress({ SITE_BUILD_EGRESS: 'workspace' }, ['*.corp.example']);
    expect([reached.forInstall().withWorkspace, reached.forBuild()?.withWorkspace]).toEqual([true, true]);
    await reached.requireReachable('w', ['https://npm.corp.example/']);
  });

  it.each<Record<string, string>>([
    { SITE_BUILD_EGRESS: 'none' },
    { SITE_BUILD_EGRESS: 'workspace', SANDBOX_EGRESS: 'none' },
  ])('is nothing with %j', environment => {
    const reached = egress(environment);
    expect(() => reached.forInstall()).toThrow('reach no registry');
    expect(reached.forBuild()).toBeUndefined();
  });

  it.each([
    ['https://npm.corp.example/', '"https://npm.corp.example/", which cannot be reached'],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: as it stands in files
    ['https://${HOST}/', 'which cannot be reached'],
    ['https://ada:secret@registry.npmjs.org/', 'named with a password'],
  ])('does not become another registry than the project names: %s', async (registry, sentence) => {
    await expect(egress().requireReachable('w', ['https://registry.npmjs.org/', registry])).rejects.toThrow(
      sentence,
    );
    await expect(egress().requireReachable('w', [registry])).rejects.not.toThrow('secret');
  });
});

it('registries are addresses without passwords', () => {
  expect(() => egress({ SITE_BUILD_REGISTRIES: 'https://ada:secret@npm.example' })).toThrow(
    /^SITE_BUILD_REGISTRIES must .*without a user name/,
  );
  expect(() => egress({ SITE_BUILD_REGISTRIES: 'npm.example' })).toThrow(/^SITE_BUILD_REGISTRIES must /);
});
