export { FormsModule } from './forms.module.js';
export { type FormFacts, formTroubled } from './links/current-forms.js';
export { formSubmitted } from './responses/response-writer.js';
