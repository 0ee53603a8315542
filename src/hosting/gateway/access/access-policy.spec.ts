import { describe, expect, it } from '@jest/globals';
import {
  ACCESS_MODES,
  type AccessMode,
  type AccessPolicy,
  EXPOSURE_LIMITS,
  effectiveMode,
  exceeds,
  mayOpen,
  type Onlooker,
} from './access-policy.js';

const policy: AccessPolicy = {
  mode: 'workspace',
  emails: ['grace@example.com'],
  password_hash: null,
  link_hash: null,
  sealed_link: null,
  identity: 'id',
  allowed_origins: [],
  public_preview: null,
  versions: 'workspace',
  policy_version: '1',
  max_exposure: 'public',
  sharing_off: false,
};
const someone: Onlooker = {
  user_id: 'someone',
  role: null,
  organization_role: null,
  email: 'someone@example.com',
  email_verified: true,
};
const PEOPLE: Record<string, Onlooker> = {
  creator: { ...someone, user_id: 'creator', role: 'editor' },
  'creator who left': { ...someone, user_id: 'creator' },
  'admin of the workspace': { ...someone, role: 'admin' },
  viewer: { ...someone, role: 'viewer', organization_role: 'guest' },
  'member of the organization': { ...someone, organization_role: 'member' },
  guest: { ...someone, organization_role: 'guest' },
  invited: { ...someone, email: 'grace@example.com' },
  'unverified address': { ...someone, email: 'grace@example.com', email_verified: false },
  stranger: someone,
};
const INSIDE = ['creator', 'admin of the workspace', 'viewer'];

describe('who is signed in may open', () => {
  it.each<[AccessMode, string[]]>([
    ['private', ['creator']],
    ['workspace', INSIDE],
    ['org', [...INSIDE, 'member of the organization']],
    ['restricted', [...INSIDE, 'invited']],
    ['link', INSIDE],
    ['password', INSIDE],
    ['public', Object.keys(PEOPLE)],
  ])('%s: %j', (mode, allowed) => {
    const may = Object.entries(PEOPLE).filter(([, who]) =>
      mayOpen(policy, mode, { createdBy: 'creator' }, who),
    );
    expect(may.map(([name]) => name)).toEqual(allowed);
  });
});

describe('the mode that holds', () => {
  it('is no wider than the organization allows', () => {
    for (const mode of ACCESS_MODES)
      for (const max_exposure of EXPOSURE_LIMITS) {
        const held = effectiveMode({ ...policy, mode, max_exposure }, undefined);
        expect(held).toBe(exceeds(mode, max_exposure) ? 'workspace' : mode);
      }
    expect(exceeds('password', 'link')).toBe(false);
    expect(exceeds('link', 'restricted')).toBe(true);
  });

  it('lets nobody in from outside while sharing is turned off', () => {
    const held = ACCESS_MODES.map(mode => effectiveMode({ ...policy, mode, sharing_off: true }, undefined));
    expect(held).toEqual(['private', 'workspace', 'org', ...Array(4).fill('workspace')]);
  });

  it('is that of the workspace for one version, unless versions are as open as the site', () => {
    expect(ACCESS_MODES.map(mode => effectiveMode({ ...policy, mode }, 3))).toEqual([
      'private',
      ...Array(6).fill('workspace'),
    ]);
    expect(effectiveMode({ ...policy, mode: 'public', versions: 'same' }, 3)).toBe('public');
  });
});
