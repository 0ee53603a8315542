import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { databaseTime, type UnitOfWork } from '../../../platform/database/index.js';
import { categoryOf } from '../types/types.js';
import { DEFAULT_SCHEDULE, type Preference, type Schedule } from './preference.js';

export interface Habits {
  readonly preferences: readonly Preference[];
  readonly schedule: Schedule;
  /** When this was read, by the clock of the database, which everything that is due is compared with. */
  readonly now: Date;
}

@Injectable()
export class PreferencesStore {
  async read(unit: UnitOfWork, userId: string): Promise<Habits> {
    const habits = (await this.readAll(unit, [userId])).get(userId);
    if (!habits) throw new Error('Everybody has habits');
    return habits;
  }

  async readAll(unit: UnitOfWork, userIds: readonly string[]): Promise<Map<string, Habits>> {
    const preferences = await unit
      .tables()
      .selectFrom('notification_preference')
      .selectAll()
      .where('user_id', '=', sql<string>`any(${[...userIds]}::uuid[])`)
      .orderBy('type_or_category')
      .orderBy('channel')
      .orderBy('organization_id')
      .execute();
    const schedules = await unit
      .tables()
      .selectFrom('notification_schedule')
      .selectAll()
      .where('user_id', '=', sql<string>`any(${[...userIds]}::uuid[])`)
      .execute();
    const now = await databaseTime(unit);
    const preferencesOf = Map.groupBy(preferences, ({ user_id }) => user_id);
    const scheduleOf = new Map(schedules.map(schedule => [schedule.user_id, schedule]));
    const habitsOf = (id: string): Habits => ({
      preferences: preferencesOf.get(id) ?? [],
      schedule: scheduleOf.get(id) ?? DEFAULT_SCHEDULE,
      now,
    });
    return new Map(userIds.map(id => [id, habitsOf(id)]));
  }

  /** Puts these in the place of all that the person preferred. */
  async replace(unit: UnitOfWork, userId: string, preferences: readonly Preference[]): Promise<void> {
    // Two who replace them at once come one after the other.
    await sql`select from "user" where id = ${userId} for no key update`.execute(unit.tables());
    await unit.tables().deleteFrom('notification_preference').where('user_id', '=', userId).execute();
    for (const preference of preferences) await this.set(unit, userId, preference);
  }

  async set(unit: UnitOfWork, userId: string, preference: Preference): Promise<void> {
    const { organization_id, type_or_category, channel, mode } = preference;
    await sql`
      insert into notification_preference (user_id, organization_id, type_or_category, channel, mode)
      select id, ${organization_id}, ${type_or_category}, ${channel}, ${mode} from "user" where id = ${userId}
      on conflict (user_id, organization_id, type_or_category, channel) do update set mode = excluded.mode`.execute(
      unit.tables(),
    );
  }

  /** Turns a type off on a channel, also where the person wanted it in some organization. */
  async turnOff(unit: UnitOfWork, userId: string, type: string, channel: string): Promise<void> {
    await sql`
      insert into notification_preference (user_id, organization_id, type_or_category, channel, mode)
      select u.id, organization_id, ${type}, ${channel}, 'off' from "user" u, (
        select null::uuid as organization_id union
        select organization_id from notification_preference
        where user_id = ${userId} and channel = ${channel} and type_or_category in (${type}, ${categoryOf(type)})) places
      where u.id = ${userId}
      on conflict (user_id, organization_id, type_or_category, channel) do update set mode = 'off'`.execute(
      unit.tables(),
    );
  }

  async setSchedule(unit: UnitOfWork, userId: string, schedule: Schedule): Promise<void> {
    await unit
      .tables()
      .insertInto('notification_schedule')
      .values({ user_id: userId, ...schedule })
      .onConflict(conflict => conflict.column('user_id').doUpdateSet(schedule))
      .execute();
  }
}
