export { Keyring } from './keyring.js';
export { CreatedKeyView, KeyPage, KeyRestrictions, KeyView } from './keys.dto.js';
export { KeysModule } from './keys.module.js';
export { KeysService } from './keys.service.js';
export { isWellFormedKey } from './keys.store.js';
