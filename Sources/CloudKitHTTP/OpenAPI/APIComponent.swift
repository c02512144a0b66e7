/// An object that several endpoints of the API have in common, by its name in the document.
enum APIComponent: String, CaseIterable, Sendable {
    case error = "Error"
    case zoneID = "ZoneID"
    case stamp = "Stamp"
    case reference = "Reference"
    case field = "Field"
    case record = "Record"
    case deletedRecord = "DeletedRecord"
    case recordError = "RecordError"
    case shortGUID = "ShortGUID"
    case lookupInfo = "LookupInfo"
    case person = "Person"
    case user = "User"
    case participant = "Participant"
    case shareKeyEpoch = "ShareKeyEpoch"
    case shareKeys = "ShareKeys"
    case invitation = "Invitation"
    case invitationError = "InvitationError"
    case zone = "Zone"
    case deletedZone = "DeletedZone"
    case zoneError = "ZoneError"
    case zoneStates = "ZoneStates"
    case filter = "Filter"
    case sort = "Sort"
    case query = "Query"
    case notificationInfo = "NotificationInfo"
    case subscription = "Subscription"
    case subscriptionError = "SubscriptionError"
    case uploadedFile = "UploadedFile"
    case pushToken = "PushToken"
    case fault = "Fault"
    case faultOutcome = "FaultOutcome"

    /// The schema of the object.
    var schema: JSONSchema {
        switch self {
        case .error:
            .answer(["uuid": .text]).adding(Self.errorKeys).adding(
                JSONSchema.Property.list(["redirectURL?": .string(format: "uri")]))
        case .zoneID:
            .answer([
                "zoneName": .text, "ownerRecordName": .text,
                "zoneType": .string(choices: ["DEFAULT_ZONE", "REGULAR_CUSTOM_ZONE"]),
            ])
        case .stamp: .answer(["timestamp": .time, "userRecordName": .text, "deviceID?": .text])
        case .reference: .answer(["recordName": .text, "zoneID?": .component(.zoneID)])
        case .field: .answer(["value": .any, "type?": .text, "isEncrypted?": .boolean])
        case .record: Self.recordSchema
        case .deletedRecord:
            .answer(["recordName": .text, "recordType?": .text, "recordChangeTag?": .text, "deleted": .boolean])
        case .recordError: .answer(["recordName": .text, "uuid": .text]).adding(Self.errorKeys)
        case .shortGUID:
            .answer([
                "value": .text, "shouldFetchRootRecord?": .boolean, "rootRecordDesiredKeys?": .list(.text),
                "oneTimeSecret?": .text, "linkProof?": .base64,
            ])
        case .lookupInfo: .answer(["emailAddress?": .text, "phoneNumber?": .text, "userRecordName?": .text])
        case .person:
            .answer([
                "userRecordName?": .text, "nameComponents?": Self.nameComponents,
                "lookupInfo?": .component(.lookupInfo),
                "hasiCloudAccount?": .boolean, "publicIdentity?": .base64,
            ])
        case .user:
            .answer([
                "userRecordName?": .text, "firstName?": .text, "lastName?": .text, "emailAddress?": .text,
                "phoneNumber?": .text,
            ])
        case .participant:
            .answer([
                "participantId?": .text, "type": .text, "permission": .text, "acceptanceStatus": .text,
                "userIdentity": .component(.person), "isApprovedRequester?": .boolean, "oneTimeShortGUID?": .text,
                "dateAdded?": .time, "keyEpoch?": .integer, "keyIdentity?": .text, "grantEpoch?": .integer,
                "linkProof?": .base64,
            ])
        case .shareKeyEpoch:
            .answer([
                "epoch": .integer, "blob?": .base64, "link?": .base64, "wrap?": .base64, "statement?": .base64,
            ])
        case .shareKeys:
            .answer([
                "keyEpoch": .integer, "needsNewEpoch?": .boolean, "epochs": .list(.component(.shareKeyEpoch)),
                "waiting?": .list(.text),
            ])
        case .invitation:
            .answer([
                "shortGUID": .component(.shortGUID), "containerIdentifier": .text,
                "environment": .string(choices: ["development", "production"]),
                "databaseScope": .string(choices: ["PRIVATE", "SHARED"]), "zoneID": .component(.zoneID),
                "share": .component(.record), "rootRecordName?": .text, "rootRecord?": .component(.record),
                "participantType": .text, "participantStatus": .text, "participantPermission": .text,
                "ownerIdentity": .component(.person),
            ])
        case .invitationError:
            .answer(["shortGUID": .component(.shortGUID), "uuid": .text]).adding(Self.errorKeys)
        case .zone:
            .answer([
                "zoneID": .component(.zoneID), "syncToken?": .text, "atomic": .boolean, "encryptionScope?": .text,
                "capabilities?": .integer, "keyEpoch?": .integer, "share?": .component(.reference),
            ])
        case .deletedZone: .answer(["zoneID": .component(.zoneID), "deleted": .boolean])
        case .zoneError: .answer(["zoneID": .component(.zoneID), "uuid": .text]).adding(Self.errorKeys)
        case .zoneStates:
            .answer([
                "incarnation": .text, "forgetsDeletions?": .boolean,
                "states?": .list(.answer(["device": .text, "number": .integer, "state?": .base64])),
            ])
        case .filter:
            .request([
                "comparator": .text, "fieldName?": .text, "systemFieldName?": .text, "fieldValue?": .any,
                "distance?": .number,
            ])
        case .sort:
            .request([
                "fieldName?": .text, "systemFieldName?": .text, "ascending?": .boolean, "relativeLocation?": .any,
            ])
        case .query:
            .request([
                "recordType?": .text, "filterBy?": .list(.component(.filter)), "sortBy?": .list(.component(.sort)),
            ])
        case .notificationInfo: Self.notificationInfoSchema
        case .subscription:
            .answer([
                "subscriptionID": .text, "subscriptionType": .string(choices: ["query", "zone", "database"]),
                "zoneID?": .component(.zoneID), "zoneWide": .boolean, "recordType?": .text,
                "query?": .component(.query), "firesOn?": .list(.string(choices: ["create", "update", "delete"])),
                "firesOnce?": .boolean, "notificationInfo?": .component(.notificationInfo),
            ])
        case .subscriptionError: .answer(["subscriptionID": .text, "uuid": .text]).adding(Self.errorKeys)
        case .uploadedFile:
            .answer([
                "fileChecksum": .base64, "size": .integer, "receipt": .text, "wrappingKey?": .base64,
                "referenceChecksum?": .base64,
            ])
        case .pushToken:
            .answer([
                "apnsEnvironment": .text, "apnsToken": .text, "webcourierURL?": .string(format: "uri"),
                "position?": .text,
            ])
        case .fault:
            .answer([
                "id": .text, "kind": .text, "container?": .text, "userRecordName?": .text, "until?": .time,
                "bytes?": .integer, "retryAfter": .boolean,
            ])
        case .faultOutcome:
            .answer([
                "fault?": .component(.fault), "removed?": .integer, "forgotten?": .integer, "zones?": .integer,
                "deviceID?": .text, "userRecordName?": .text,
            ])
        }
    }

    /// The keys of every error, of a request or of an item; those from `failure` on are additions of the native surface.
    static let errorKeys = JSONSchema.Property.list([
        "serverErrorCode": .string(choices: errorCodes), "reason": .text, "retryAfter?": .number, "failure?": .text,
        "nativeCode?": .integer, "nativeSubcode?": .integer, "remedy?": .text, "serverRecord?": .component(.record),
        "restoredTo?": .integer, "lastVersion?": .integer,
    ])

    private static let errorCodes = [
        "ACCESS_DENIED", "ATOMIC_ERROR", "AUTHENTICATION_FAILED", "AUTHENTICATION_REQUIRED", "BAD_REQUEST", "CONFLICT",
        "EXISTS", "INTERNAL_ERROR", "NOT_FOUND", "QUOTA_EXCEEDED", "THROTTLED", "TRY_AGAIN_LATER",
        "VALIDATING_REFERENCE_ERROR", "ZONE_NOT_FOUND",
    ]

    static let nameComponents = JSONSchema.answer(["givenName?": .text, "familyName?": .text])

    private static let recordSchema = JSONSchema.answer([
        "recordName": .text, "recordType": .text, "fields": .map(.component(.field)), "pluginFields": .answer([:]),
        "recordChangeTag": .text, "created": .component(.stamp), "modified": .component(.stamp), "deleted": .boolean,
        "zoneID": .component(.zoneID), "shortGUID?": .text, "parent?": .component(.reference),
        "share?": .component(.reference),
        "protection?": .answer(["epoch": .integer, "keys?": .base64, "statement?": .base64]),
        "publicPermission?": .text, "participants?": .list(.component(.participant)),
        "owner?": .component(.participant), "currentUserParticipant?": .component(.participant),
        "requesters?": .list(.answer(["userIdentity": .component(.person)])),
        "blocked?": .list(.answer(["userIdentity": .component(.person)])),
        "rootRecordName?": .text, "allowsAccessRequests?": .boolean, "shareKeys?": .component(.shareKeys),
    ])

    private static let notificationInfoSchema = JSONSchema.answer([
        "alertBody?": .text, "alertLocalizationKey?": .text, "alertLocalizationArgs?": .list(.text), "title?": .text,
        "titleLocalizationKey?": .text, "titleLocalizationArgs?": .list(.text), "subtitle?": .text,
        "subtitleLocalizationKey?": .text, "subtitleLocalizationArgs?": .list(.text),
        "alertActionLocalizationKey?": .text, "alertLaunchImage?": .text, "soundName?": .text, "shouldBadge?": .boolean,
        "shouldSendContentAvailable?": .boolean, "shouldSendMutableContent?": .boolean,
        "additionalFields?": .list(.text), "category?": .text, "collapseIDKey?": .text,
    ])
}
