extension EndpointName {
    /// The description of the endpoint for clients; nil for a path that names none.
    var apiDescription: EndpointDescription? {
        switch self {
        case .recordsModify, .recordsLookup, .recordsQuery, .recordsList, .recordsChanges, .recordsResolve,
            .recordsAccept, .sharesKeysLookup, .sharesKeysStore, .sharesRequestAccess:
            recordDescription
        case .zonesList, .zonesLookup, .zonesModify, .zonesChanges, .changesZone, .changesDatabase:
            zoneDescription
        case .assetsUpload, .assetsImport, .assetsRereference, .assetUpload, .assetDownload: assetDescription
        case .subscriptionsList, .subscriptionsLookup, .subscriptionsModify, .tokensCreate, .tokensRegister,
            .tokensDelete, .tokensServices, .courier:
            notificationDescription
        case .usersCaller, .usersCurrent, .usersDiscover, .usersLookupEmail, .usersLookupPhone, .usersLookupID,
            .usersLookupContacts, .usersLookupParticipants, .identitiesLookup, .directoryLookup, .directoryHistory:
            userDescription
        case .sessionsPrepare, .sessionsCreate, .sessionsDelete, .accountsCreate, .accountsPassword,
            .accountsDelete, .accountsData, .accountsAddress, .accountsDiscovery, .accountsConsents, .accountsWebKeys,
            .accountsMethods, .passkeysBegin, .passkeysCreate, .passkeysDelete, .providersBegin, .providersFinish,
            .providersLink, .providersUnlink, .keychainOpen, .approvalsCreate, .approvalsList, .approvalsAnswer,
            .approvalsReveal, .approvalsApprove, .approvalsRefuse, .approvalsFinish, .keychainGet, .keychainCreate,
            .keychainRewrap, .keychainReset, .keychainRecovery,
            .keychainRecover, .devicesList, .devicesRevoke, .devicesRename:
            deviceDescription
        case .adminFaultsList, .adminFaultsOrder, .adminFaultsRemove, .adminTokensExpire, .adminZonesCompact,
            .adminZonesPurge, .adminKeysReset, .adminDevicesList, .adminDevicesRevoke, .adminSchemaExport,
            .adminSchemaImport, .adminSchemaDiff, .adminSchemaDeploy, .adminSchemaReset, .adminSchemaRoles,
            .adminToken:
            operatorDescription
        case .landingPage, .accountPage, .providerPage, .addressPage, .signInPage, .signUpPage, .invitationPage,
            .signInScript,
            .styleSheet,
            .sharePage, .shareScript, .notificationsPage, .notificationsScript, .notificationsWorker, .libraryScript,
            .health, .metrics,
            .openAPI:
            pageDescription
        // Sites of other modules are for people, and not every cloud has them.
        case .site, .unknown: nil
        }
    }
}

// MARK: Records and shares

extension EndpointName {
    fileprivate static let recordItems = JSONSchema.list(
        .either([.component(.record), .component(.deletedRecord), .component(.recordError)]))
    private static let guids = JSONSchema.request([
        "shortGUIDs": .list(.request(["value": .text, "shouldFetchRootRecord?": .boolean]))
    ])
    private static let keysAnswer = JSONSchema.answer([
        "keyEpoch": .integer, "needsNewEpoch?": .boolean, "epochs": .list(.component(.shareKeyEpoch)),
        "waiting": .list(.component(.participant)), "moreComing": .boolean,
    ])
    fileprivate static let zone = JSONSchema.request(["zoneName": .text, "ownerRecordName?": .text])
    fileprivate static let all = ["public", "private", "shared"]

    private var recordDescription: EndpointDescription? {
        switch self {
        case .recordsModify:
            .post(
                "Saves and deletes records of a zone.", .database(Self.all),
                takes: .request([
                    "operations": .list(.request(["operationType": .text, "record": .map(.any)])),
                    "zoneID?": Self.zone, "atomic?": .boolean, "desiredKeys?": .list(.text),
                    "numbersAsStrings?": .boolean,
                ]),
                gives: .answer(["records": Self.recordItems, "syncToken?": .text]))
        case .recordsLookup:
            .post(
                "Returns records by their names.", .database(Self.all),
                takes: .request([
                    "records": .list(.either([.request(["recordName": .text]), .text])), "zoneID?": Self.zone,
                    "desiredKeys?": .list(.text), "numbersAsStrings?": .boolean,
                ]),
                gives: .answer(["records": Self.recordItems, "syncToken?": .text]))
        case .recordsQuery:
            .post(
                "Returns the records that a query finds.", .database(Self.all),
                takes: .request([
                    "query?": .component(.query), "zoneID?": Self.zone, "zoneWide?": .boolean,
                    "resultsLimit?": .integer, "continuationMarker?": .text, "desiredKeys?": .list(.text),
                    "numbersAsStrings?": .boolean,
                ]),
                gives: .answer([
                    "records": .list(.component(.record)), "continuationMarker?": .text, "syncToken?": .text,
                ]))
        case .recordsList:
            .post(
                "Returns the records of a zone page by page; in the public database those that the caller created.",
                .database(["public", "private"]),
                takes: .request([
                    "zoneID?": Self.zone, "resultsLimit?": .integer, "continuationMarker?": .text,
                    "numbersAsStrings?": .boolean,
                ]),
                gives: .answer(["records": Self.recordItems, "continuationMarker?": .text]))
        case .recordsChanges:
            .post(
                "Returns what changed in a zone since a token; an older form of changes/zone.",
                .database(["private", "shared"]),
                takes: .request([
                    "zoneID?": Self.zone, "syncToken?": .text, "desiredKeys?": .list(.text), "resultsLimit?": .integer,
                ]),
                gives: Self.zonePage)
        case .recordsResolve:
            .post(
                "Returns what links of shares lead to.", .database(["public"]), takes: Self.guids,
                gives: .answer([
                    "results": .list(.either([.component(.invitation), .component(.invitationError)]))
                ]))
        case .recordsAccept:
            .post(
                "Accepts shares.", .database(["public"]), takes: Self.guids,
                gives: .answer([
                    "results": .list(.either([.component(.invitation), .component(.invitationError)]))
                ]))
        case .sharesRequestAccess:
            .post(
                "Asks owners of shares for access.", .database(["public"]), takes: Self.guids,
                gives: .answer([
                    "results": .list(
                        .either([.answer(["shortGUID": .component(.shortGUID)]), .component(.invitationError)]))
                ]))
        case .sharesKeysLookup:
            .post(
                "Returns the wrapped keys of a share.", .database(["private", "shared"]),
                takes: .request(["zoneID?": Self.zone, "recordName": .text]), gives: Self.keysAnswer)
        case .sharesKeysStore:
            .post(
                "Stores wrapped keys of a share.", .database(["private", "shared"]),
                takes: .request(["zoneID?": Self.zone, "recordName": .text, "shareKeys": .map(.any)]),
                gives: Self.keysAnswer)
        default: nil
        }
    }
}

// MARK: Zones and changes

extension EndpointName {
    private static let pageKeys = JSONSchema.Property.list([
        "records": .list(.either([.component(.record), .component(.deletedRecord)])), "syncToken": .text,
        "moreComing": .boolean, "clientChangeToken?": .base64, "zoneStates?": .component(.zoneStates),
    ])
    fileprivate static let zonePage = JSONSchema.object(pageKeys, isOpen: false)
    private static let zoneItems = JSONSchema.list(
        .either([.component(.zone), .component(.deletedZone), .component(.zoneError)]))

    private static func zoneList(_ token: String) -> JSONSchema {
        JSONSchema.object(
            [JSONSchema.Property(name: token, schema: .text)]
                + JSONSchema.Property.list([
                    "zones": .list(
                        .either([
                            .answer(["zoneID": .component(.zoneID), "syncToken?": .text]),
                            .answer(["zoneID": .component(.zoneID), "deleted": .boolean, "reason?": .text]),
                        ])),
                    "moreComing": .boolean,
                ]), isOpen: false)
    }

    private var zoneDescription: EndpointDescription? {
        switch self {
        case .zonesList:
            .post(
                "Lists the zones of a database.", .database(Self.all), takes: .request([:]),
                gives: .answer(["zones": Self.zoneItems]), orGet: true)
        case .zonesLookup:
            .post(
                "Returns zones by their names.", .database(Self.all), takes: .request(["zones": .list(Self.zone)]),
                gives: .answer(["zones": Self.zoneItems]))
        case .zonesModify:
            .post(
                "Creates and deletes zones.", .database(Self.all),
                takes: .request(["operations": .list(.request(["operationType": .text, "zone": .map(.any)]))]),
                gives: .answer(["zones": Self.zoneItems]))
        case .changesZone:
            .post(
                "Returns what changed in zones since tokens.", .database(["private", "shared"]),
                takes: .request(["zones": .list(.request(["zoneID": Self.zone, "syncToken?": .text]))]),
                gives: .answer([
                    "zones": .list(
                        .either([
                            .answer(["zoneID": .component(.zoneID)]).adding(Self.pageKeys), .component(.zoneError),
                        ]))
                ]))
        case .changesDatabase:
            .post(
                "Returns the zones of a database that changed since a token.", .database(["private", "shared"]),
                takes: .request(["syncToken?": .text, "resultsLimit?": .integer]),
                gives: Self.zoneList("syncToken"))
        case .zonesChanges:
            .post(
                "Returns the zones that changed since a token; an older form of changes/database.",
                .database(["private", "shared"]),
                takes: .request(["metaSyncToken?": .text, "resultsLimit?": .integer]),
                gives: Self.zoneList("metaSyncToken"))
        default: nil
        }
    }
}

// MARK: Files

extension EndpointName {
    private static let place = JSONSchema.request([
        "recordType?": .text, "recordName?": .text, "fieldName": .text,
    ])

    private var assetDescription: EndpointDescription? {
        switch self {
        case .assetsUpload:
            .post(
                "Returns addresses to which files are uploaded.", .database(Self.all),
                takes: .request(["tokens": .list(Self.place), "zoneID?": Self.zone]),
                gives: .answer([
                    "tokens": .list(
                        .answer(["recordName": .text, "fieldName": .text, "url": .string(format: "uri")]))
                ]))
        case .assetsImport:
            .post(
                "Copies a file of another container of the account.", .database(Self.all),
                takes: .request([
                    "zoneID?": Self.zone, "recordType": .text, "recordName": .text, "fieldName": .text,
                    "downloadURL": .text,
                ]),
                gives: .answer(["assets": .list(.component(.uploadedFile))]))
        case .assetsRereference:
            .post(
                "Lets another record refer to a file that the cloud has.", .database(Self.all),
                takes: .request([
                    "zoneID?": Self.zone, "targetZoneID?": Self.zone,
                    "assets": .list(.request(["recordName": .text, "fieldName": .text])),
                ]),
                gives: .answer([
                    "assets": .list(
                        .either([
                            .component(.uploadedFile),
                            .answer(["recordName": .text, "fieldName": .text, "uuid": .text])
                                .adding(APIComponent.errorKeys),
                        ]))
                ]))
        case .assetUpload:
            EndpointDescription(
                summary: "Takes a file, whole or in pieces.", place: .path("/assets/upload/{token}"),
                operations: [
                    .init(
                        method: "post", body: .bytes,
                        answers: [(200, .json(.answer(["singleFile": .component(.uploadedFile)])))]),
                    .init(
                        method: "patch", body: .bytes,
                        answers: [
                            (200, .json(.answer(["singleFile": .component(.uploadedFile)]))), (204, .none),
                            (409, .json(.component(.error))),
                        ]),
                    .init(method: "head", answers: [(200, .none), (204, .none)]),
                ])
        case .assetDownload:
            EndpointDescription(
                summary: "Sends a file, or a range of it.", place: .path("/assets/file/{token}/{name}"),
                operations: [
                    .init(
                        method: "get",
                        answers: [(200, .bytes), (206, .bytes), (304, .none), (307, .none), (416, .none)])
                ])
        default: nil
        }
    }
}

// MARK: Subscriptions and notifications

extension EndpointName {
    private static let subscriptionItems = JSONSchema.list(
        .either([
            .component(.subscription), .answer(["subscriptionID": .text]), .component(.subscriptionError),
        ]))

    private var notificationDescription: EndpointDescription? {
        switch self {
        case .subscriptionsList:
            .post(
                "Lists the subscriptions of a database.", .database(Self.all), takes: .request([:]),
                gives: .answer(["subscriptions": Self.subscriptionItems]), orGet: true)
        case .subscriptionsLookup:
            .post(
                "Returns subscriptions by their identifiers.", .database(Self.all, hasAlias: true),
                takes: .request(["subscriptions": .list(.request(["subscriptionID": .text]))]),
                gives: .answer(["subscriptions": Self.subscriptionItems]))
        case .subscriptionsModify:
            .post(
                "Saves and deletes subscriptions.", .database(Self.all),
                takes: .request([
                    "operations": .list(.request(["operationType": .text, "subscription": .map(.any)]))
                ]),
                gives: .answer(["subscriptions": Self.subscriptionItems]))
        case .tokensCreate:
            .post(
                "Makes a push token and the address of its notifications.", .deviceAndDatabase,
                takes: .request(["apnsEnvironment?": .text, "clientId?": .text]), gives: .component(.pushToken))
        case .tokensRegister:
            .post(
                "Registers a push token.", .deviceAndDatabase,
                takes: .request(["apnsEnvironment?": .text, "apnsToken": .text, "clientId?": .text]),
                gives: .component(.pushToken))
        case .tokensDelete:
            .post(
                "Removes a push token.", .device, takes: .request(["apnsToken": .text]), gives: .answer([:]))
        case .tokensServices:
            .post(
                "Lists the push services and what their clients need.", .device, takes: .request([:]),
                gives: .answer(["services": .list(.map(.text))]), orGet: true)
        case .courier:
            EndpointDescription(
                summary: "Waits for a notification.", place: .path("/courier/{address}"),
                operations: [
                    .init(
                        method: "get",
                        answers: [
                            (
                                200,
                                .jsonOrNothing(
                                    .either([
                                        .answer(["notifications": .list(Self.payload), "position": .text]),
                                        Self.payload,
                                    ]))
                            )
                        ])
                ])
        default: nil
        }
    }

    private static let payload = JSONSchema.answer(["aps?": .map(.any), "ck?": .map(.any)])
}

// MARK: Users

extension EndpointName {
    private static let infos = JSONSchema.request([
        "lookupInfos?": .list(.map(.text)), "users?": .list(.map(.text)),
    ])
    private static let people = JSONSchema.answer(["users": .list(.component(.person))])
    private static let users = JSONSchema.answer(["users": .list(.component(.user))])

    private var userDescription: EndpointDescription? {
        switch self {
        case .usersCaller:
            .post(
                "Returns the identity of the caller.", .database(Self.all), takes: .request([:]),
                gives: .answer([
                    "userRecordName": .text, "nameComponents?": APIComponent.nameComponents,
                    "users": .list(.component(.person)),
                ]), orGet: true)
        case .usersCurrent:
            .post(
                "Returns the name of the caller.", .database(Self.all), takes: .request([:]),
                gives: .answer(["userRecordName": .text, "firstName?": .text, "lastName?": .text]), orGet: true)
        case .usersDiscover:
            .post(
                "Finds discoverable users.", .database(["public"]), takes: Self.infos, gives: Self.people, orGet: true)
        case .usersLookupEmail:
            .post(
                "Finds discoverable users by e-mail address.", .database(["public"]), takes: Self.infos,
                gives: Self.users)
        case .usersLookupPhone:
            .post(
                "Finds discoverable users by phone number.", .database(["public"]), takes: Self.infos, gives: Self.users
            )
        case .usersLookupID:
            .post(
                "Finds discoverable users by record name.", .database(["public"]), takes: Self.infos, gives: Self.users)
        case .usersLookupContacts:
            .post(
                "Answers with no users; of older clients.", .database(["public"]), takes: .request([:]),
                gives: .either([Self.users, Self.people]), orGet: true)
        case .usersLookupParticipants:
            .post(
                "Returns participants for invitations to shares.", .database(["public"]), takes: Self.infos,
                gives: .answer([
                    "participants": .list(
                        .either([
                            .component(.participant),
                            .answer(["lookupInfo": .component(.lookupInfo), "uuid": .text])
                                .adding(APIComponent.errorKeys),
                        ]))
                ]))
        case .identitiesLookup:
            .post(
                "Returns public identities of users.", .device, takes: .request(["userRecordNames": .list(.text)]),
                gives: .answer([
                    "identities": .list(
                        .answer(["userRecordName": .text, "identity": .base64, "generation": .integer]))
                ]))
        case .directoryLookup:
            .post(
                "Returns proofs of the directory of identities.", .device,
                takes: .request([
                    "addresses?": .list(.text), "userRecordNames?": .list(.text), "heads?": .list(.integer),
                ]),
                gives: .answer([
                    "keys": .base64, "head": .base64,
                    "proofs": .list(.answer(["userRecordName?": .text, "address?": .text, "proof?": .base64])),
                    "heads": .list(.answer(["head": .base64, "proof": .base64])),
                ]))
        case .directoryHistory:
            EndpointDescription(
                summary: "Returns heads of the directory of identities, for auditors.",
                place: .path("/directory/history"),
                operations: [
                    .init(
                        method: "get",
                        answers: [(200, .json(.request(["heads": .list(.any), "keys": .base64, "newest": .base64])))])
                ])
        default: nil
        }
    }
}

// MARK: Accounts, keychains and devices

extension EndpointName {
    private static func ofDevice(_ properties: KeyValuePairs<String, JSONSchema> = [:]) -> JSONSchema {
        JSONSchema.request(["deviceID": .text, "deviceSecret": .base64]).adding(JSONSchema.Property.list(properties))
    }
    /// A request of a device, or of a browser on a page of the cloud, whose web token is in the query.
    private static func ofSender(_ properties: KeyValuePairs<String, JSONSchema> = [:]) -> JSONSchema {
        JSONSchema.request(["deviceID?": .text, "deviceSecret?": .base64]).adding(JSONSchema.Property.list(properties))
    }
    /// The use of a passkey.
    private static let assertion = JSONSchema.request([
        "id": .base64, "clientData": .base64, "authenticatorData": .base64, "signature": .base64,
        "userHandle?": .base64,
    ])
    /// What shows that the person agrees: one of the three.
    private static let agreement: [JSONSchema.Property] = JSONSchema.Property.list([
        "proof?": .base64, "wordsProof?": .base64, "passkey?": assertion,
    ])
    private static let passkey = JSONSchema.answer([
        "id": .base64, "name": .text, "created": .time, "used?": .time, "isBackedUp": .boolean, "opensKeys": .boolean,
    ])
    private static let generation = JSONSchema.answer(["generation": .integer])

    private var deviceDescription: EndpointDescription? {
        switch self {
        case .sessionsPrepare:
            .post(
                "Returns how the proof of a password is derived.", .device, takes: .request(["email": .text]),
                gives: .answer(["salt": .base64, "rounds": .integer]))
        case .sessionsCreate:
            .post(
                "Signs a device or browser in.", .device,
                takes: .request([
                    "email?": .text, "proof?": .base64, "deviceName?": .text,
                    "lifetime?": .string(choices: ["session", "persistent", "device"]), "deviceID?": .text,
                    "deviceSecret?": .base64, "wantsKeychain?": .boolean, "keepsAccount?": .boolean,
                    "passkey?": Self.assertion, "ticket?": .text,
                ]),
                gives: .answer([
                    "ckWebAuthToken": .text, "userRecordName": .text, "deviceID": .text, "deviceSecret?": .base64,
                    "expires": .time, "email?": .text,
                    "keychain?": .answer([
                        "generation": .integer, "passwordWrap": .base64, "identity": .base64, "passkeyWrap?": .base64,
                    ]),
                    "withholdsKeychain?": .boolean,
                ]))
        case .sessionsDelete:
            .post(
                "Signs a device out, or the browser that sends the request.", .device,
                takes: .request(["deviceID?": .text, "deviceSecret?": .base64]), gives: .answer([:]))
        case .accountsCreate:
            .post(
                "Creates an account.", .device,
                takes: .request([
                    "email?": .text, "name?": .text, "proof?": .base64, "salt?": .base64, "rounds?": .integer,
                    "invitation?": .text, "ticket?": .text,
                ]),
                gives: .answer([:]))
        case .accountsPassword:
            .post(
                "Changes the password of an account.", .device,
                takes: Self.ofSender([
                    "newProof": .base64, "salt": .base64, "rounds": .integer, "generation?": .integer,
                    "passwordWrap?": .base64,
                ]).adding(Self.agreement),
                gives: .answer([:]))
        case .accountsDelete:
            .post(
                "Has an account deleted when a time is over, and signs out its devices; without proof, returns the time.",
                .device, takes: Self.ofSender().adding(Self.agreement),
                gives: .answer(["graceSeconds": .integer, "due?": .time]))
        case .accountsData:
            .post(
                "Lists the containers in which the account has data, with API tokens to read it.", .device,
                takes: Self.ofSender(["containers?": .list(.text)]),
                gives: .answer([
                    "containers": .list(
                        .answer([
                            "container": .text, "environment": .text, "apiToken": .text, "ckWebAuthToken?": .text,
                            "userRecordName?": .text, "records": .integer, "recordBytes": .integer,
                            "assetBytes": .integer, "quotaBytes?": .integer,
                        ])), "isComplete": .boolean,
                ]))
        case .accountsAddress:
            .post(
                "Returns whether the account's address is proved, has a link mailed to it, or proves it with the code of the link.",
                .device,
                takes: .request([
                    "deviceID?": .text, "deviceSecret?": .base64, "sendsLink?": .boolean, "code?": .text,
                ]),
                gives: .answer(["email": .text, "isProved": .boolean, "isRequired": .boolean]))
        case .accountsDiscovery:
            .post(
                "Returns or decides whether others find the account's owner.", .device,
                takes: Self.ofDevice(["isDiscoverable?": .boolean]), gives: .answer(["isDiscoverable?": .boolean]))
        case .accountsConsents:
            .post(
                "Lets operators see the person's data of the container, lists consents, or takes them back.", .device,
                takes: Self.ofDevice([
                    "create?": .boolean, "seconds?": .number, "allowsChanges?": .boolean, "revoke?": .text,
                ]),
                gives: .answer([
                    "token?": .text,
                    "consents": .list(
                        .answer([
                            "id": .text, "container": .text, "environment": .text, "created": .time, "expires": .time,
                            "allowsChanges": .boolean,
                        ])),
                ]))
        case .accountsWebKeys:
            .post(
                "Returns or decides whether browsers may fetch the account's wrapped keys.", .device,
                takes: Self.ofDevice(["allowsWebKeys?": .boolean]), gives: .answer(["allowsWebKeys": .boolean]))
        case .accountsMethods:
            .post(
                "Returns how the account's owner signs in.", .device, takes: Self.ofSender(),
                gives: .answer([
                    "hasPassword": .boolean, "passkeys": .list(Self.passkey), "provider?": .text,
                    "connections": .list(.answer(["id": .text, "issuer": .text, "created": .time])),
                ]))
        case .passkeysBegin:
            .post(
                "Returns a challenge for a passkey.", .device,
                takes: Self.ofSender(["purpose?": .string(choices: ["signIn", "agreement", "registration"])]),
                gives: .answer([
                    "challenge": .base64, "party": .text, "user?": .base64, "email?": .text, "name?": .text,
                    "known?": .list(.base64),
                ]))
        case .passkeysCreate:
            .post(
                "Adds a passkey to the account.", .device,
                takes: Self.ofSender([
                    "name": .text, "clientData": .base64, "attestation": .base64, "wrap?": .base64,
                    "generation?": .integer,
                ]).adding(Self.agreement),
                gives: .answer(["passkey": Self.passkey]))
        case .passkeysDelete:
            .post(
                "Removes a passkey of the account.", .device, takes: Self.ofSender(["id": .base64]),
                gives: .answer([:]))
        case .providersBegin:
            .post(
                "Returns the address at the provider of identities to which a browser goes.", .device,
                takes: .request(["binding": .base64, "port?": .integer]), gives: .answer(["url": .text]))
        case .providersFinish:
            .post(
                "Asks the provider about the person who came back.", .device,
                takes: .request(["state": .text, "code": .text, "secret": .base64]),
                gives: .answer([
                    "ticket": .text, "hasAccount": .boolean, "isSignUpOpen": .boolean, "email?": .text,
                    "isEmailVerified": .boolean, "name?": .text,
                ]))
        case .providersLink:
            .post(
                "Lets a person at the provider sign in to the account.", .device,
                takes: Self.ofSender(["ticket": .text]).adding(Self.agreement), gives: .answer([:]))
        case .providersUnlink:
            .post(
                "Ends that a person at the provider signs in to the account.", .device,
                takes: Self.ofSender(["id": .text]), gives: .answer([:]))
        case .approvalsCreate:
            .post(
                "Asks the account's devices for its keys.", .device, takes: Self.ofSender(["commitment": .base64]),
                gives: .answer(["deviceID": .text, "expires": .integer]))
        case .approvalsList:
            .post(
                "Returns the requests for the account's keys.", .device, takes: Self.ofSender(),
                gives: .answer([
                    "requests": .list(
                        .answer([
                            "deviceID": .text, "name": .text, "isBrowser": .boolean, "isCaller": .boolean,
                            "address": .text, "created": .integer, "expires": .integer, "state": .text,
                            "commitment": .base64, "identity": .base64, "approver?": .text, "answer?": .base64,
                            "publicKey?": .base64, "nonce?": .base64, "sealed?": .base64, "receipt?": .base64,
                        ]))
                ]))
        case .approvalsAnswer:
            .post(
                "Answers a request for the account's keys with a nonce.", .device,
                takes: Self.ofSender(["device": .text, "nonce": .base64]), gives: .answer([:]))
        case .approvalsReveal:
            .post(
                "Reveals the key and the nonce of the own request.", .device,
                takes: Self.ofSender(["publicKey": .base64, "nonce": .base64]), gives: .answer([:]))
        case .approvalsApprove:
            .post(
                "Gives the device that asks the account's secret, sealed to its key.", .device,
                takes: Self.ofSender(["device": .text, "sealed": .base64]), gives: .answer([:]))
        case .approvalsRefuse:
            .post(
                "Refuses a request for the account's keys.", .device, takes: Self.ofSender(["device": .text]),
                gives: .answer([:]))
        case .approvalsFinish:
            .post(
                "Ends the own request, whose secret the device has opened.", .device,
                takes: Self.ofSender(["receipt": .base64]), gives: .answer([:]))
        case .keychainOpen:
            .post(
                "Returns the keychain wrapped for what the person shows.", .device,
                takes: Self.ofSender().adding(Self.agreement),
                gives: .answer(["generation": .integer, "wrap": .base64, "identity": .base64]))
        case .keychainGet:
            .post(
                "Returns the state of the account's keychain.", .device, takes: Self.ofDevice(),
                gives: .answer([
                    "generation": .integer, "exists": .boolean, "isOutdated": .boolean, "identity?": .base64,
                ]))
        case .keychainCreate:
            .post(
                "Stores the account's first keychain.", .device,
                takes: Self.ofSender([
                    "passwordWrap?": .base64, "recoveryWrap": .base64, "recoveryProof": .base64, "identity": .base64,
                ]),
                gives: Self.generation)
        case .keychainRewrap:
            .post(
                "Stores the keychain wrapped for new recovery words.", .device,
                takes: Self.ofSender([
                    "generation": .integer, "passwordWrap?": .base64, "recoveryWrap?": .base64,
                    "recoveryProof?": .base64,
                ]).adding(Self.agreement),
                gives: .answer([:]))
        case .keychainReset:
            .post(
                "Replaces the keychain by a new one, which gives up all encrypted data.", .device,
                takes: Self.ofDevice([
                    "generation": .integer, "passwordWrap": .base64, "recoveryWrap": .base64, "recoveryProof": .base64,
                    "identity": .base64,
                ]).adding(Self.agreement),
                gives: Self.generation)
        case .keychainRecovery:
            .post(
                "Returns the keychain wrapped for the recovery words.", .device,
                takes: .request(["email": .text, "recoveryProof": .base64]),
                gives: .answer(["generation": .integer, "recoveryWrap": .base64, "identity": .base64]))
        case .keychainRecover:
            .post(
                "Sets a new password with the recovery words.", .device,
                takes: .request([
                    "email": .text, "recoveryProof": .base64, "generation": .integer, "newProof": .base64,
                    "salt": .base64, "rounds": .integer, "passwordWrap": .base64,
                ]),
                gives: .answer([:]))
        case .devicesList:
            .post(
                "Lists the devices of the account.", .device, takes: Self.ofSender(),
                gives: .answer([
                    "devices": .list(
                        .answer([
                            "deviceID": .text, "name": .text, "created": .time, "expires": .time,
                            "isBrowser": .boolean, "isCaller": .boolean, "isOutdated": .boolean,
                        ]))
                ]))
        case .devicesRevoke:
            .post(
                "Signs another device of the account out.", .device, takes: Self.ofSender(["revoke": .text]),
                gives: .answer([:]))
        case .devicesRename:
            .post(
                "Gives a device of the account another name.", .device,
                takes: Self.ofDevice(["rename": .text, "name": .text]), gives: .answer([:]))
        default: nil
        }
    }
}

// MARK: Operators

extension EndpointName {
    private static let person = JSONSchema.Property.list(["email?": .text, "userRecordName?": .text])

    /// The body of an order, in which unknown keys are errors.
    private static func order(_ properties: KeyValuePairs<String, JSONSchema> = [:]) -> JSONSchema {
        JSONSchema.answer(properties).adding(person)
    }

    private static let changes = JSONSchema.answer(["changes": .list(.text)])
    private static let outcome = JSONSchema.component(.faultOutcome)

    private var operatorDescription: EndpointDescription? {
        switch self {
        case .adminFaultsList:
            .post(
                "Lists the faults that are ordered.", .container, takes: .request([:]),
                gives: .answer(["faults": .list(.component(.fault))]), orGet: true)
        case .adminFaultsOrder:
            .post(
                "Orders a fault.", .container,
                takes: Self.order([
                    "kind": .text, "seconds?": .number, "bytes?": .integer, "retryAfter?": .boolean,
                ]), gives: Self.outcome)
        case .adminFaultsRemove:
            .post(
                "Removes faults.", .container, takes: .answer(["id?": .text, "all?": .boolean]), gives: Self.outcome)
        case .adminTokensExpire:
            .post("Expires change tokens.", .container, takes: Self.order(["zone?": .text]), gives: Self.outcome)
        case .adminZonesCompact:
            .post(
                "Forgets the deletions of a zone.", .container, takes: Self.order(["zone": .text]), gives: Self.outcome)
        case .adminZonesPurge:
            .post("Purges a zone.", .container, takes: Self.order(["zone": .text]), gives: Self.outcome)
        case .adminKeysReset:
            .post(
                "Resets the keys of zones, or the keychain of an account.", .container,
                takes: Self.order(["zone?": .text, "account?": .boolean]), gives: Self.outcome)
        case .adminDevicesList:
            .post(
                "Lists the devices of a user.", .container, takes: Self.order(),
                gives: .answer([
                    "devices": .list(
                        .answer([
                            "deviceID": .text, "name": .text, "created": .time, "expires": .time,
                            "isBrowser": .boolean, "isOutdated": .boolean,
                        ]))
                ]))
        case .adminDevicesRevoke:
            .post("Signs a device out.", .container, takes: Self.order(["device": .text]), gives: Self.outcome)
        case .adminSchemaExport, .adminSchemaImport, .adminSchemaDiff, .adminSchemaDeploy, .adminSchemaReset,
            .adminSchemaRoles:
            schemaDescription
        case .adminToken:
            EndpointDescription(
                summary: "Returns what the operator's token is for.", place: .operatorPath("/admin/1/token"),
                operations: [
                    .init(
                        method: "get",
                        answers: [
                            (
                                200,
                                .json(
                                    .answer([
                                        "id": .text, "name": .text, "container?": .text, "created": .time,
                                    ]))
                            )
                        ])
                ])
        default: nil
        }
    }

    private var schemaDescription: EndpointDescription? {
        switch self {
        case .adminSchemaExport:
            .post(
                "Returns the schema of the environment as text.", .container, takes: .request([:]),
                gives: .answer([
                    "schema": .text,
                    "indexBuild?": .answer([
                        "databasesDone": .integer, "databases": .integer, "records": .integer,
                    ]),
                ]), orGet: true)
        case .adminSchemaImport:
            .post(
                "Makes development's schema what a text says, or checks the text.", .container,
                takes: .answer(["schema": .text, "validate?": .boolean, "removeData?": .boolean]),
                gives: Self.changes)
        case .adminSchemaDiff:
            .post(
                "Compares development with production, or the environment with a text.", .container,
                takes: .answer(["schema?": .text]), gives: Self.changes, orGet: true)
        case .adminSchemaDeploy:
            .post(
                "Deploys development's schema to production, or reports on it.", .container,
                takes: .answer(["force?": .boolean, "validate?": .boolean]),
                gives: .answer([
                    "changes": .list(.text), "isSafe": .boolean,
                    "findings": .list(.answer(["kind": .text, "text": .text])),
                ]))
        case .adminSchemaReset:
            .post(
                "Puts development back to production's schema, without data.", .container, takes: .answer([:]),
                gives: .answer([:]))
        case .adminSchemaRoles:
            .post(
                "Gives a user a custom role or takes it, and lists the users of every role.", .container,
                takes: .answer(["role?": .text, "userRecordName?": .text, "isGiven?": .boolean]),
                gives: .answer(["roles": .map(.list(.text))]))
        default: nil
        }
    }
}

// MARK: Pages, health, metrics

extension EndpointName {
    private static let script = "text/javascript"
    private static let html = "text/html"

    private var pageDescription: EndpointDescription? {
        switch self {
        case .landingPage: .page("The cloud's first page.", "/", Self.html)
        case .accountPage: .page("The page where people see their account.", "/account", Self.html)
        case .signInPage: .form("The page where users sign in.", "/sign-in")
        case .signUpPage: .form("The page where users create accounts.", "/sign-up")
        case .addressPage: .page("The page where people confirm their address.", "/address", Self.html)
        case .providerPage:
            .page("The page to which the provider of identities sends browsers back.", "/provider", Self.html)
        case .invitationPage:
            .page("The page where people who are invited create their account.", "/invitation", Self.html)
        case .notificationsPage: .form("The page that switches notifications on.", "/notifications")
        case .signInScript: .page("The script of the sign-in page.", "/sign-in.js", Self.script)
        case .shareScript: .page("The script of the page of a share.", "/share.js", Self.script)
        case .notificationsScript: .page("The script of the page of notifications.", "/notifications.js", Self.script)
        case .notificationsWorker:
            .page("The worker that shows notifications.", "/notifications-worker.js", Self.script)
        case .styleSheet: .page("The style of all pages.", "/style.css", "text/css")
        case .metrics: .page("Metrics in Prometheus' format.", "/metrics", "text/plain")
        case .sharePage:
            EndpointDescription(
                summary: "The page of a share, or with Accept: application/json what the link leads to.",
                place: .path("/share/{link}"),
                operations: [
                    .init(
                        method: "get",
                        answers: [
                            (200, .text(Self.html)), (404, .text(Self.html)), (404, .json(.component(.error))),
                            (
                                200,
                                .json(
                                    .answer(["containerIdentifier": .text, "environment": .text, "shortGUID": .text]))
                            ),
                        ])
                ])
        case .health:
            EndpointDescription(
                summary: "Whether the cloud can serve.", place: .path("/health"),
                operations: [
                    .init(method: "get", answers: [(200, .json(Self.healthBody)), (503, .json(Self.healthBody))])
                ])
        case .libraryScript:
            EndpointDescription(
                summary: "A script for pages of any origin, or the hashes of all.",
                place: .path("/welkin/{release}/{name}"),
                operations: [.init(method: "get", answers: [(200, .bytes)])])
        case .openAPI:
            EndpointDescription(
                summary: "This document.", place: .path("/openapi.json"),
                operations: [.init(method: "get", answers: [(200, .json(.map(.any)))])])
        default: nil
        }
    }

    private static let healthBody = JSONSchema.answer([
        "status": .string(choices: ["ok", "degraded", "failing", "stopping"]), "store?": .text,
        "details?": .list(.map(.any)),
        "writing?": .text, "storeBytes?": .integer, "freeBytes?": .integer, "accounts?": .integer, "lastBackup?": .time,
        "version?": .text,
    ])
}
