import { Field, PageInput, PageOf } from '../../platform/dto/index.js';

export class ListSessions extends PageInput {}

export class SessionId {
  @Field.id('The session') id: string;
}

export class EndSessions {
  @Field.boolean('Whether the session that asks ends too', { optional: true, default: false, example: false })
  current?: boolean;
}

export class SessionView {
  @Field.id('The session') id: string;
  @Field.boolean('Whether it is the one that asks') current: boolean;

  @Field.text('What signed in, as it called itself', { nullable: true, example: 'Mozilla/5.0 …' })
  user_agent: string | null;

  @Field.text('Network address that it signed in from', { nullable: true, example: '203.0.113.7' })
  address: string | null;

  @Field.time('When it was signed in') created_at: string;
  @Field.time('When it last got new tokens') last_used_at: string;
  @Field.time('When it ends, unless it gets new tokens before') expires_at: string;
}

export const SessionPage = PageOf(SessionView, 'SessionPage');

export class EndedSessionsView {
  @Field.integer('How many sessions were ended', { example: 2 }) ended: number;
}
