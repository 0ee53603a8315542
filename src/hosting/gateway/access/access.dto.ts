import { OrganizationId } from '../../../identity/organizations/index.js';
import { Field, NAME, PageOf } from '../../../platform/dto/index.js';
import {
  ACCESS_MODES,
  type AccessMode,
  EXPOSURE_LIMITS,
  type ExposureLimit,
  IDENTITIES,
  type Identity,
} from './access-policy.js';

const MODE =
  'Who may open it: private (its creator), workspace (members of the workspace), org (also other members of the organization), restricted (also people of `emails`), link (also whoever has its link), password (also whoever knows it), public (everybody)';
const IDENTITY =
  'What it is told of who looks: none, id (an id), profile (also name, e-mail address and role in the workspace)';
const VERSIONS =
  'Who may open the hosts of single versions: workspace (its members alone), or same (whoever may open the live one)';
const ORIGINS = 'Other origins whose pages may make requests with the sign-in of a viewer';

export class PublicPreviewInput {
  @Field.text('Title', { min: 1, max: 120, example: 'Handbook' }) title: string;

  @Field.text('What it is about', { max: 300, optional: true, nullable: true, example: 'How we work' })
  description?: string | null;
}

/** Absent fields keep their value. */
export class AccessInput {
  @Field.choice(MODE, ACCESS_MODES, { example: 'workspace' }) mode: AccessMode;

  @Field.text(
    'Addresses of those who may open it as well, with mode restricted; they sign in with an account of that address',
    {
      list: true,
      optional: true,
      max: 254,
      maxItems: 500,
      example: ['grace@example.com'],
    },
  )
  emails?: string[];

  @Field.text('What visitors must enter, with mode password', {
    min: 4,
    max: 256,
    format: 'password',
    example: 'correct horse battery',
    optional: true,
  })
  password?: string;

  @Field.boolean('Makes a new link, with mode link; the one before stops working', { optional: true })
  rotate_link?: boolean;

  @Field.choice(IDENTITY, IDENTITIES, { optional: true, example: 'id' }) identity?: Identity;

  @Field.text(ORIGINS, {
    list: true,
    optional: true,
    max: 300,
    maxItems: 20,
    example: ['https://app.example.com'],
  })
  allowed_origins?: string[];

  @Field.object(
    'What programs that make previews are shown, and whoever has to sign in; null: nothing',
    () => PublicPreviewInput,
    {
      optional: true,
      nullable: true,
    },
  )
  public_preview?: PublicPreviewInput | null;

  @Field.choice(VERSIONS, ['workspace', 'same'], { optional: true, example: 'workspace' })
  versions?: 'workspace' | 'same';
}

export class SetSiteAccess extends AccessInput {
  @Field.id('The site') site_id: string;
}

export class SetServerAccess extends AccessInput {
  @Field.id('The server') server_id: string;
}

export class PublicPreviewView {
  @Field.text('Title', { example: 'Handbook' }) title: string;
  @Field.text('What it is about', { nullable: true, example: 'How we work' }) description: string | null;
}

export class AccessView {
  @Field.choice(MODE, ACCESS_MODES) mode: AccessMode;

  @Field.choice(
    'The mode that holds: workspace where the organization allows no more, or sharing is turned off in the workspace',
    ACCESS_MODES,
  )
  effective_mode: AccessMode;

  @Field.text('Where it is; null where the service has no domain for sites', {
    nullable: true,
    example: 'https://docs.sites.example.com',
  })
  url: string | null;

  @Field.text('The link, with mode link; null for callers who may not change who opens it', {
    nullable: true,
    secret: true,
    example: 'https://docs.sites.example.com/?atl_link=q3Vn…',
  })
  link: string | null;

  @Field.text('Who else may open it; empty for callers who may not change that', { list: true, example: [] })
  emails: string[];

  @Field.boolean('Whether there is a password') has_password: boolean;
  @Field.choice(IDENTITY, IDENTITIES) identity: Identity;
  @Field.text(ORIGINS, { list: true, example: [] }) allowed_origins: string[];

  @Field.object('What whoever has to sign in is shown', () => PublicPreviewView, { nullable: true })
  public_preview: PublicPreviewView | null;

  @Field.choice(VERSIONS, ['workspace', 'same']) versions: string;

  @Field.choice('What the organization allows at most; link includes password', EXPOSURE_LIMITS)
  max_exposure: ExposureLimit;
}

export class SiteAccessView extends AccessView {
  @Field.id('The site') site_id: string;
}

export class ServerAccessView extends AccessView {
  @Field.id('The server') server_id: string;
}

export class TokenInput {
  @Field.text('What it is for', { ...NAME, example: 'Uptime check' }) name: string;

  @Field.integer('How many seconds it is good for, 30 days at most', {
    min: 60,
    max: 30 * 86_400,
    default: 7 * 86_400,
    optional: true,
    example: 86_400,
  })
  expires_in?: number;
}

export class CreateSiteToken extends TokenInput {
  @Field.id('The site') site_id: string;
}

export class CreateServerToken extends TokenInput {
  @Field.id('The server') server_id: string;
}

export class AccessTokenView {
  @Field.id('The token') id: string;
  @Field.text('What it is for', { example: 'Uptime check' }) name: string;
  @Field.id('Who made it') created_by: string;
  @Field.time('When it was made') created_at: string;
  @Field.time('When it ends') expires_at: string;
}

export class NewAccessTokenView extends AccessTokenView {
  @Field.text(
    'To be sent as X-Atelier-Access, or by a browser as the WebSocket subprotocol atelier.access.TOKEN; shown this once',
    {
      secret: true,
      example: 'ath_…',
    },
  )
  token: string;
}

export const AccessTokenPage = PageOf(AccessTokenView, 'AccessTokenPage');

export class HostedExecTokenView {
  @Field.id('The token') id: string;
  @Field.text('The actions that it runs', { list: true, example: ['file_list'] }) actions: string[];
  @Field.id('On whose authority') actor_id: string;
  @Field.text('Their name', { example: 'Ada Lovelace' }) actor_name: string;
  @Field.time('When it was made') created_at: string;
  @Field.time('When it ends') expires_at: string;
}

export class HostedExecTokenList {
  @Field.object('The tokens, newest first', () => HostedExecTokenView, { list: true })
  items: HostedExecTokenView[];
}

const LIMIT =
  'What may be opened to people outside of it, at most: org (nothing), restricted (to named people), link (to whoever has a link or password), public (to everybody)';

export class SetExposureLimit extends OrganizationId {
  @Field.choice(LIMIT, EXPOSURE_LIMITS, { example: 'link' }) max_exposure: ExposureLimit;
}

export class ExposureLimitView {
  @Field.choice(LIMIT, EXPOSURE_LIMITS) max_exposure: ExposureLimit;
}
