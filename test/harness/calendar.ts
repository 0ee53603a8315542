import { it } from '@jest/globals';

const LENGTH = { day: 10, month: 7 };

/** The day or month (UTC) that it is. */
const current = (unit: keyof typeof LENGTH) => new Date().toISOString().slice(0, LENGTH[unit]);

/**
 * As `it`, for what is counted by the day or month: where that turned while the test ran, and it failed, it is run again,
 * after `reset`.
 */
export const itWithinOne =
  (unit: keyof typeof LENGTH, reset: () => void = () => undefined) =>
  (name: string, test: () => Promise<void>): void =>
    it(name, async () => {
      for (;;) {
        const begun = current(unit);
        try {
          return await test();
        } catch (error) {
          if (current(unit) === begun) throw error;
          reset();
        }
      }
    });
