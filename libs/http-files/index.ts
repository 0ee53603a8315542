export { type FormRequest, receiveFiles, receiveForm } from './form-files.js';
export { type Preconditions, preconditionsOf, refuseForm } from './preconditions.js';
export { FileRefusal } from './refusal.js';
export { contentDisposition, isHarmless, type SentFile, sendFile } from './send-file.js';
export { sanitised, UploadNames } from './upload-names.js';
