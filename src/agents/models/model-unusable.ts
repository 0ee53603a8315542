import { Invalid } from '../../platform/errors/index.js';

/** A model that is not there, or that the organization may not use (422); the detail says which and why. */
export class ModelUnusable extends Invalid {
  constructor(reason: string, field = 'model') {
    super(`${field}: ${reason}; GET /api/models lists what can be used`);
  }
}
