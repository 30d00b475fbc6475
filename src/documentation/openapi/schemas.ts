import {
  MAX_DESCRIPTION_CHARACTERS,
  MAX_ISSUES,
  MAX_SHOWN_CHARACTERS,
} from '../../problems/limits.js';
import { CLEAN, supportedValuesSchema } from './supported-values.schema.js';

/** A text for people in a problem document. */
const text = (description: string, maxLength = 1_024): object => ({
  type: 'string',
  maxLength,
  description,
});

/** The resources of the interface document, by their names in the OpenAPI document. */
export const schemas: Record<string, object> = {
  OrderUpdateSupportedValues: supportedValuesSchema('commentType', [
    'General',
    'BOL',
    'Consumer',
    'Appt',
    'Appointment',
  ]),
  OrderCaptureSupportedValues: supportedValuesSchema('commentTypeCodes', [
    'General',
    'Consumer',
    'Appointment',
    'BOL',
  ]),
  CommunicationCodeRecord: {
    type: 'object',
    required: ['codeType', 'code', 'description'],
    properties: {
      codeType: {
        ...CLEAN,
        description: 'Code type of the record; defines its usage category.',
        examples: ['SAMPLE-APPOINTMENT'],
      },
      code: { ...CLEAN, description: 'Code of the record.', examples: ['CONFIRMED'] },
      description: {
        ...CLEAN,
        maxLength: MAX_DESCRIPTION_CHARACTERS,
        description: 'Description of the communication code.',
        examples: ['Sample: the consumer confirmed the appointment'],
      },
    },
  },
  CommunicationCodeQueryResponse: {
    type: 'object',
    required: ['communicationRecords'],
    properties: {
      communicationRecords: {
        type: 'array',
        description:
          'Result set of communication records, sorted by code type and code in code-point order. Empty where none matches.',
        items: { $ref: '#/components/schemas/CommunicationCodeRecord' },
      },
    },
  },
  ProblemDetails: {
    type: 'object',
    description: 'RFC 9457 (obsoletes RFC 7807) with the extensions dateTime and issues.',
    required: ['type', 'title', 'status', 'detail', 'instance', 'dateTime'],
    properties: {
      type: {
        type: 'string',
        format: 'uri-reference',
        maxLength: 2_048,
        description: 'Identifies the problem type. The address explains it.',
      },
      title: text('Summary; the same for each occurrence of the type.', 128),
      status: {
        type: 'integer',
        format: 'int32',
        minimum: 100,
        maximum: 599,
        description: 'Status code of this occurrence.',
      },
      detail: text('What happened in this occurrence.'),
      instance: {
        type: 'string',
        format: 'uri-reference',
        maxLength: 45,
        description: 'urn:uuid of the request, the same as in X-Request-Id and in our log.',
      },
      dateTime: {
        type: 'string',
        format: 'date-time',
        maxLength: 24,
        description: 'When the problem occurred (RFC 3339).',
      },
      issues: {
        type: 'array',
        maxItems: MAX_ISSUES,
        items: { $ref: '#/components/schemas/Issue' },
        description: `Every fault of the request, ${MAX_ISSUES} at most. Left out where there is none.`,
      },
    },
  },
  Issue: {
    type: 'object',
    required: ['description', 'field', 'location'],
    properties: {
      description: text('What is wrong, and how to correct it.'),
      field: text(
        'Name of the field in error; a JSON Pointer where the location is body.',
        MAX_SHOWN_CHARACTERS,
      ),
      location: { type: 'string', enum: ['body', 'header', 'path', 'query'], default: 'body' },
      value: text(
        `What was sent, at most ${MAX_SHOWN_CHARACTERS} characters. Never a credential.`,
        MAX_SHOWN_CHARACTERS,
      ),
    },
  },
};
