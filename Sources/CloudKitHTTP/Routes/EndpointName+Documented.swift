extension EndpointName {
    /// A Boolean value that indicates whether a cloud that is strict about web services has the endpoint: documented ones, those of the
    /// pages where users sign in and open links, and those of operators.
    var isServedStrictly: Bool {
        switch self {
        case .recordsModify, .recordsLookup, .recordsQuery, .recordsChanges, .recordsResolve, .recordsAccept,
            .zonesList,
            .zonesLookup, .zonesModify, .zonesChanges, .changesZone, .changesDatabase, .assetsUpload,
            .assetsRereference, .assetUpload, .assetDownload, .subscriptionsList, .subscriptionsLookup,
            .subscriptionsModify, .usersCaller, .usersCurrent, .usersDiscover, .usersLookupEmail, .usersLookupID,
            .usersLookupContacts, .tokensCreate, .tokensRegister, .courier:
            true
        case .sessionsPrepare, .sessionsCreate, .accountsCreate, .landingPage, .signInPage, .signUpPage,
            .invitationPage, .signInScript, .styleSheet, .sharePage, .shareScript:
            true
        case .adminFaultsList, .adminFaultsOrder, .adminFaultsRemove, .adminTokensExpire, .adminZonesCompact,
            .adminZonesPurge, .adminKeysReset, .adminDevicesList, .adminDevicesRevoke,
            .adminSchemaExport, .adminSchemaImport, .adminSchemaDiff, .adminSchemaDeploy, .adminSchemaReset,
            .adminSchemaRoles, .adminToken, .site, .health, .metrics, .openAPI, .unknown:
            true
        case .assetsImport, .usersLookupPhone, .accountsAddress, .addressPage, .accountsDiscovery, .accountsConsents,
            .accountsWebKeys, .accountsMethods, .passkeysBegin, .passkeysCreate, .passkeysDelete,
            .providersBegin, .providersFinish, .providersLink, .providersUnlink, .providerPage, .keychainOpen,
            .approvalsCreate, .approvalsList, .approvalsAnswer, .approvalsReveal, .approvalsApprove, .approvalsRefuse,
            .approvalsFinish,
            .libraryScript,
            .sharesKeysLookup, .sharesKeysStore,
            .sharesRequestAccess, .usersLookupParticipants, .sessionsDelete,
            .accountsPassword, .accountsDelete, .accountsData, .accountPage, .recordsList, .keychainGet,
            .keychainCreate, .keychainRewrap, .keychainReset,
            .keychainRecovery,
            .keychainRecover, .devicesList, .devicesRevoke, .devicesRename, .identitiesLookup, .directoryLookup,
            .directoryHistory, .tokensDelete, .tokensServices, .notificationsPage, .notificationsScript,
            .notificationsWorker:
            false
        }
    }
}
