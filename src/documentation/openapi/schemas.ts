import type { SchemaObject } from './openapi-types.js';
import { supportedValuesSchema } from './supported-values.schema.js';

/** The resources of the interface document, by the names that the OpenAPI document gives them. */
export const schemas: Record<string, SchemaObject> = {
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
        type: 'string',
        description: 'Code type of the record; defines its usage category.',
        examples: ['SAMPLE-APPOINTMENT'],
      },
      code: { type: 'string', description: 'Code of the record.', examples: ['CONFIRMED'] },
      description: {
        type: 'string',
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
        description: 'Identifies the problem type. The address explains it.',
      },
      title: { type: 'string', description: 'Summary; the same for each occurrence of the type.' },
      status: {
        type: 'integer',
        minimum: 100,
        maximum: 599,
        description: 'Status code of this occurrence.',
      },
      detail: { type: 'string', description: 'What happened in this occurrence.' },
      instance: {
        type: 'string',
        format: 'uri-reference',
        description: 'urn:uuid of the request, the same as in X-Request-Id and in our log.',
      },
      dateTime: {
        type: 'string',
        format: 'date-time',
        description: 'When the problem occurred (RFC 3339).',
      },
      issues: {
        type: 'array',
        items: { $ref: '#/components/schemas/Issue' },
        description: 'Every fault of the request, 20 at most. Left out where there is none.',
      },
    },
  },
  Issue: {
    type: 'object',
    required: ['description', 'field', 'location'],
    properties: {
      description: { type: 'string' },
      field: {
        type: 'string',
        description: 'Name of the field in error; a JSON Pointer where the location is body.',
      },
      location: { type: 'string', enum: ['body', 'header', 'path', 'query'], default: 'body' },
      value: {
        type: 'string',
        maxLength: 256,
        description: 'What was sent, at most 256 characters. Never a credential.',
      },
    },
  },
};
