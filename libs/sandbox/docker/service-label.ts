/** The label of every container, whose value names the process that started it. */
export const SERVICE_LABEL = 'atelier.sandbox.service';
