import { Injectable } from '@nestjs/common';
import { ResponseCheck, type SchemaText } from '#libs/bounded-schema/index.js';
import { TookTooLong } from '#libs/worker-pool/index.js';
import { Invalid } from '../../platform/errors/index.js';
import { task, Workers } from '../../platform/workers/index.js';

/** How often a model may repair its answer before the run fails. */
export const MAX_REPAIRS = 2;

/** Why a run ends whose answers did not become valid. */
export const schemaFailed = (faults: readonly string[]) => ({
  type: 'response_schema_failed',
  message: `The model did not give an answer that is valid against response_schema: ${faults.join('; ')}`,
});

type Schema = Record<string, unknown>;

const USABLE = task('libs/bounded-schema/schema-task', 'faultOfSchema');
const CHECK = task('libs/bounded-schema/schema-task', 'readBySchema');
/** More than the bounds that the schemas have themselves. */
const SCHEMA_MS = 5_000;

/** The schemas of callers, which are tried in other threads: what they take is up to who wrote them. */
@Injectable()
export class ResponseSchemas {
  constructor(private readonly workers: Workers) {}

  /** Throws Invalid (422) for what cannot be used as a response schema. */
  async requireUsable(schema: unknown): Promise<void> {
    const fault = await this.inTime(
      this.workers.run<string | null>(USABLE, JSON.stringify(schema), SCHEMA_MS),
    );
    if (fault !== null) throw new Invalid(`response_schema ${fault ?? TOO_SLOW}`);
  }

  checkOf(schema: Schema): ResponseCheck {
    return new ResponseCheck(schema, async text => {
      const reading = this.workers.patiently<SchemaText>(
        CHECK,
        { schema: JSON.stringify(schema), text },
        SCHEMA_MS,
      );
      return (await this.inTime(reading)) ?? { faults: [UNCHECKED] };
    });
  }

  private async inTime<T>(result: Promise<T>): Promise<T | undefined> {
    try {
      return await result;
    } catch (error) {
      if (error instanceof TookTooLong) return undefined;
      throw error;
    }
  }
}

const TOO_SLOW = 'takes too long to be understood; make it simpler';

const UNCHECKED = 'The answer could not be checked in time; make it smaller';
