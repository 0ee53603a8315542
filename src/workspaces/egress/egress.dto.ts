import { presets } from '#libs/egress-proxy/index.js';
import { Field } from '../../platform/dto/index.js';

export const EGRESS_MODES = ['none', 'allow'] as const;
export const EGRESS_PRESETS = Object.keys(presets) as (keyof typeof presets)[];

const HOSTS = { list: true, max: 255, example: ['api.example.com', '*.pythonhosted.org'] };

export class ReadEgress {
  @Field.id('The workspace')
  workspace_id: string;
}

export class UpdateEgress extends ReadEgress {
  @Field.choice(
    'none: sandboxes reach no network; allow: they reach the hosts below, over HTTP and HTTPS',
    EGRESS_MODES,
    { optional: true, shown: true, example: 'none' },
  )
  mode?: (typeof EGRESS_MODES)[number];

  @Field.text('Hosts, or *.domain for every name below a domain; they take the place of those before', {
    ...HOSTS,
    optional: true,
  })
  hosts?: string[];

  @Field.choice('Lists of hosts by name', EGRESS_PRESETS, { list: true, optional: true })
  presets?: (keyof typeof presets)[];
}

export class EgressView {
  @Field.choice('Whether sandboxes of the workspace reach listed hosts, or nothing', EGRESS_MODES)
  mode: string;

  @Field.text('Hosts that are listed one by one', HOSTS)
  hosts: string[];

  @Field.choice('Lists of hosts by name', EGRESS_PRESETS, { list: true })
  presets: string[];

  @Field.text('All hosts that can be reached now: none, where the mode or the installation says so', HOSTS)
  reachable: string[];

  @Field.choice('What the operator of the installation allows at most', ['none', 'allowlist'])
  installation: string;
}
