import { ORGANIZATION_ROLES, type OrganizationRole } from '../../platform/access/index.js';
import { Field, PageOf } from '../../platform/dto/index.js';
import { EMAIL, PASSWORD, PERSON_NAME } from '../accounts/index.js';
import { OrganizationId } from '../organizations/index.js';
import { INVITATION_STATUSES } from './invitation.entity.js';

export class CreateInvitation extends OrganizationId {
  @Field.text('Who is invited', EMAIL) email: string;

  @Field.choice('The role they get, not above yours', ORGANIZATION_ROLES, {
    optional: true,
    default: 'member',
    example: 'member',
  })
  role?: OrganizationRole;
}

export class InvitationToken {
  @Field.text('The token in the link', { max: 200, example: 'q3Vn…', secret: true }) token: string;
}

export class AcceptInvitation extends InvitationToken {
  @Field.text('Name of the account to make, for a person without one', { ...PERSON_NAME, optional: true })
  name?: string;

  @Field.text('Password of the account to make', { ...PASSWORD, optional: true }) password?: string;
}

export class InvitationView {
  @Field.id('The invitation') id: string;
  @Field.id('The organization') organization_id: string;
  @Field.text('Who is invited', EMAIL) email: string;
  @Field.choice('The role they get', ORGANIZATION_ROLES, { example: 'member' }) role: OrganizationRole;
  @Field.choice('What became of it', INVITATION_STATUSES) status: string;
  @Field.id('Who invited them') invited_by: string;
  @Field.time('When it was made') created_at: string;
  @Field.time('When it ends') expires_at: string;
}

export class SentInvitationView extends InvitationView {
  @Field.text('The link to hand over; it is shown this once', {
    example: 'https://atelier.example.com/invitations/q3Vn…',
    secret: true,
  })
  link: string;

  @Field.boolean('Whether it was also sent by mail') mailed: boolean;
}

export const InvitationPage = PageOf(InvitationView, 'InvitationPage');

export class InvitationPreview {
  @Field.text('The organization', { example: 'Analytical Engines' }) organization_name: string;
  @Field.text('Who invites', { nullable: true, example: 'Ada Lovelace' }) invited_by_name: string | null;
  @Field.text('Who is invited', EMAIL) email: string;
  @Field.choice('The role they get', ORGANIZATION_ROLES, { example: 'member' }) role: OrganizationRole;
  @Field.choice('What became of it', [...INVITATION_STATUSES, 'expired']) status: string;
  @Field.time('When it ends') expires_at: string;
}

export class AcceptedView {
  @Field.id('The organization joined') organization_id: string;
  @Field.id('The account that joined') user_id: string;
  @Field.choice('The role there', ORGANIZATION_ROLES, { example: 'member' }) role: OrganizationRole;
  @Field.boolean('Whether an account was made; sign in with its password') account_created: boolean;
}

export class DeclinedView {
  @Field.boolean('Always true') declined: boolean;
}
