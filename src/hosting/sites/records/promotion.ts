import type { SiteRow } from './sites.store.js';
import type { VersionState } from './version-states.js';
import type { VersionRow } from './versions.store.js';

export interface PromotionFacts {
  readonly number: number;
  readonly state: VersionState;
  readonly auto_promote: boolean;
  /** `skipped`: decided against. */
  readonly promotion: 'none' | 'done' | 'skipped';
  readonly promotion_reason: string | null;
  /** Null if no version is live. */
  readonly live_number: number | null;
  readonly is_locked: boolean;
  readonly lock_reason: string | null;
  readonly is_paused: boolean;
  readonly pause_reason: string | null;
}

export interface Promotion {
  readonly will: boolean;
  readonly reason: string;
}

/** A version built now goes live exactly if `will` is true. */
export function decidePromotion(facts: PromotionFacts): Promotion {
  const { number, state, live_number: live } = facts;
  if (facts.promotion === 'done') return { will: true, reason: facts.promotion_reason ?? 'It went live.' };
  if (facts.promotion === 'skipped')
    return { will: false, reason: facts.promotion_reason ?? 'It did not go live by itself.' };
  if (state === 'failed') return { will: false, reason: 'Its build failed.' };
  if (state === 'cancelled') return { will: false, reason: 'Its build was cancelled.' };
  if (state === 'purged') return { will: false, reason: 'Its files were removed.' };
  if (!facts.auto_promote)
    return { will: false, reason: 'It was made without auto_promote; promote it when it is built.' };
  if (facts.is_locked)
    return {
      will: false,
      reason: `The site is locked${because(facts.lock_reason)}; unlock it, then promote.`,
    };
  if (facts.is_paused)
    return {
      will: false,
      reason: `Automatic promotion is paused${because(facts.pause_reason)}; resume it, or promote by hand.`,
    };
  if (live !== null && number < live)
    return { will: false, reason: `Version ${live} is newer and live; an older build never overtakes it.` };
  return { will: true, reason: 'It goes live as soon as it is built.' };
}

const because = (reason: string | null) => (reason ? ` (${reason})` : '');

export function promotionFacts(site: SiteRow, version: VersionRow): PromotionFacts {
  const { number, state, auto_promote, promotion, promotion_reason } = version;
  return {
    number,
    state,
    auto_promote,
    promotion,
    promotion_reason,
    live_number: site.live_number,
    is_locked: site.locked_at !== null,
    lock_reason: site.lock_reason,
    is_paused: site.paused_at !== null,
    pause_reason: site.pause_reason,
  };
}
