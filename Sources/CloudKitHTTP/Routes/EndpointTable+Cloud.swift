import CloudKitAccounts
import CloudKitServer

extension EndpointTable {
    /// Every endpoint of a cloud.
    init(_ endpoints: CloudEndpoints) {
        self.init()
        addDatabaseEndpoints(endpoints)
        addDeviceEndpoints(endpoints)
        addOperatorEndpoints(endpoints)
        addPages(endpoints)
        addPrefixes(endpoints)
        if endpoints.isStrict { removeAdditions() }
    }

    private mutating func addDatabaseEndpoints(_ endpoints: CloudEndpoints) {
        let reading: [any RequestMiddleware] = [
            UserAdmission(authenticator: endpoints.authenticator, reader: endpoints.bodyReader), TokenRotation(),
            ServerKeyLimit(), RequestRateLimit(rates: endpoints.cloud.requestRates),
            BodyReading(reader: endpoints.bodyReader),
        ]
        let epoch: [any RequestMiddleware] = endpoints.isStrict ? [] : [StoreEpoch(cloud: endpoints.cloud)]
        let steps =
            epoch + reading + (endpoints.isStrict ? [StrictBodies()] : []) + [
                InjectedFaults(faults: endpoints.cloud.faults)
            ]
        func add(
            _ name: EndpointName, _ methods: AllowedMethods,
            handler: @escaping @Sendable (DatabaseCall) async throws -> EndpointResponse
        ) {
            addDatabaseEndpoint(
                name, methods, handler: steps.around { try await handler(try DatabaseCall($0)) })
        }
        let databases = DatabaseEndpoints(
            cloud: endpoints.cloud, answers: endpoints.answers, fetches: endpoints.fetches)
        add(.recordsModify, .post, handler: databases.modifyRecords)
        add(.recordsLookup, .post, handler: databases.lookupRecords)
        add(.recordsQuery, .post, handler: databases.queryRecords)
        add(.recordsList, .post, handler: databases.listRecords)
        add(.recordsChanges, .post, handler: databases.recordChanges)
        add(.zonesList, .getOrPost, handler: databases.listZones)
        add(.zonesLookup, .post, handler: databases.lookupZones)
        add(.zonesModify, .post, handler: databases.modifyZones)
        add(.zonesChanges, .post, handler: databases.zoneListChanges)
        add(.changesZone, .post, handler: databases.zoneChanges)
        add(.changesDatabase, .post, handler: databases.databaseChanges)
        add(.assetsUpload, .post, handler: databases.uploadAssets)
        add(.assetsImport, .post, handler: databases.importAsset)
        add(.assetsRereference, .post, handler: databases.rereferenceAssets)
        add(.recordsResolve, .post, handler: databases.resolveShares)
        add(.recordsAccept, .post, handler: databases.acceptShares)
        add(.sharesRequestAccess, .post, handler: databases.requestAccess)
        add(.sharesKeysLookup, .post, handler: databases.lookupShareKeys)
        add(.sharesKeysStore, .post, handler: databases.storeShareKeys)
        add(.subscriptionsList, .getOrPost, handler: databases.listSubscriptions)
        add(.subscriptionsLookup, .post, handler: databases.lookupSubscriptions)
        add(.subscriptionsModify, .post, handler: databases.modifySubscriptions)
        addDatabaseAlias(
            .subscriptionsLookup, .post, scope: .public,
            handler: steps.around { try await databases.lookupSubscriptionsAnywhere(try DatabaseCall($0)) })
        add(.usersLookupParticipants, .post, handler: databases.lookupParticipants)
        let users = UserEndpoints(cloud: endpoints.cloud)
        add(.usersCaller, .getOrPost, handler: users.caller)
        add(.usersCurrent, .getOrPost, handler: users.current)
        add(.usersDiscover, .getOrPost, handler: users.discover)
        add(.usersLookupEmail, .post, handler: users.lookupByEmail)
        add(.usersLookupPhone, .post, handler: users.lookupByPhone)
        add(.usersLookupID, .post, handler: users.lookupByID)
        add(.usersLookupContacts, .getOrPost, handler: users.contacts)
    }

    private mutating func addDeviceEndpoints(_ endpoints: CloudEndpoints) {
        let faults = InjectedFaults(faults: endpoints.cloud.faults)
        let appSteps: [any RequestMiddleware] = [
            AppAdmission(authenticator: endpoints.authenticator, reader: endpoints.bodyReader), TokenRotation(),
            BodyReading(reader: endpoints.bodyReader),
        ]
        func add(
            _ name: EndpointName, steps: [any RequestMiddleware],
            handler: @escaping @Sendable (DeviceCall) async throws -> EndpointResponse
        ) {
            addDeviceEndpoint(name, .post, handler: steps.around { try await handler(try DeviceCall($0)) })
        }
        let devices = endpoints.devices
        // Faults are for what apps do, not for signing in and managing an account.
        add(.sessionsPrepare, steps: appSteps, handler: devices.sessions.prepare)
        add(
            .sessionsCreate, steps: appSteps + (endpoints.isStrict ? [StrictBodies()] : []),
            handler: devices.sessions.create)
        add(.sessionsDelete, steps: appSteps, handler: devices.sessions.delete)
        add(.accountsCreate, steps: appSteps, handler: devices.accounts.create)
        add(.accountsPassword, steps: appSteps, handler: devices.accounts.changePassword)
        add(.accountsDelete, steps: appSteps, handler: devices.accounts.delete)
        add(.accountsData, steps: appSteps, handler: devices.data.list)
        add(.accountsAddress, steps: appSteps, handler: devices.address.handle)
        add(.accountsDiscovery, steps: appSteps, handler: devices.setDiscovery)
        add(.accountsConsents, steps: appSteps, handler: devices.changeConsents)
        add(.accountsWebKeys, steps: appSteps, handler: devices.setWebKeys)
        add(.accountsMethods, steps: appSteps, handler: devices.passkeys.methods)
        add(.passkeysBegin, steps: appSteps, handler: devices.passkeys.begin)
        add(.passkeysCreate, steps: appSteps, handler: devices.passkeys.create)
        add(.passkeysDelete, steps: appSteps, handler: devices.passkeys.delete)
        add(.providersBegin, steps: appSteps, handler: devices.providers.begin)
        add(.providersFinish, steps: appSteps, handler: devices.providers.finish)
        add(.providersLink, steps: appSteps, handler: devices.providers.link)
        add(.providersUnlink, steps: appSteps, handler: devices.providers.unlink)
        add(.approvalsCreate, steps: appSteps, handler: devices.approvals.create)
        add(.approvalsList, steps: appSteps, handler: devices.approvals.list)
        add(.approvalsAnswer, steps: appSteps, handler: devices.approvals.answer)
        add(.approvalsReveal, steps: appSteps, handler: devices.approvals.reveal)
        add(.approvalsApprove, steps: appSteps, handler: devices.approvals.approve)
        add(.approvalsRefuse, steps: appSteps, handler: devices.approvals.refuse)
        add(.approvalsFinish, steps: appSteps, handler: devices.approvals.finish)
        add(.keychainOpen, steps: appSteps, handler: devices.keychains.open)
        add(.keychainGet, steps: appSteps, handler: devices.keychains.get)
        add(.keychainCreate, steps: appSteps, handler: devices.keychains.create)
        add(.keychainRewrap, steps: appSteps, handler: devices.keychains.rewrap)
        add(.keychainReset, steps: appSteps, handler: devices.keychains.reset)
        add(.keychainRecovery, steps: appSteps, handler: devices.keychains.recovery)
        add(.keychainRecover, steps: appSteps, handler: devices.keychains.recover)
        add(.devicesList, steps: appSteps, handler: devices.list)
        add(.devicesRevoke, steps: appSteps, handler: devices.revoke)
        add(.devicesRename, steps: appSteps, handler: devices.rename)
        add(.identitiesLookup, steps: appSteps + [faults], handler: devices.lookupIdentities)
        let directory = DirectoryEndpoints(store: endpoints.cloud.accountStore, limits: .web)
        add(.directoryLookup, steps: appSteps + [faults], handler: directory.lookup)
        let userSteps = appStepsOfUser(endpoints) + (endpoints.isStrict ? [StrictBodies()] : []) + [faults]
        let tokens = endpoints.pushTokens
        for (name, handler) in [(EndpointName.tokensCreate, tokens.create), (.tokensRegister, tokens.register)] {
            addDeviceEndpoint(name, .post, handler: userSteps.around(handler))
            addDatabaseAlias(name, .post, handler: userSteps.around(handler))
            addDatabaseEndpoint(name, .post, handler: userSteps.around(handler))
        }
        addDeviceEndpoint(.tokensDelete, .post, handler: userSteps.around(tokens.delete))
        addDeviceEndpoint(.tokensServices, .getOrPost, handler: userSteps.around(tokens.listServices))
    }

    private func appStepsOfUser(_ endpoints: CloudEndpoints) -> [any RequestMiddleware] {
        [
            UserAdmission(authenticator: endpoints.authenticator, reader: endpoints.bodyReader), TokenRotation(),
            BodyReading(reader: endpoints.bodyReader),
        ]
    }

    private mutating func addOperatorEndpoints(_ endpoints: CloudEndpoints) {
        let steps: [any RequestMiddleware] = [
            endpoints.operatorHosts,
            OperatorAdmission(tokens: endpoints.operatorTokens, reader: endpoints.bodyReader),
        ]
        let operators = endpoints.operators
        addOperatorEndpoint(.adminFaultsList, .getOrPost, handler: steps.around(operators.listFaults))
        addOperatorEndpoint(.adminDevicesList, .post, handler: steps.around(operators.listDevices))
        for order: EndpointName in [
            .adminFaultsOrder, .adminFaultsRemove, .adminTokensExpire, .adminZonesCompact, .adminZonesPurge,
            .adminKeysReset, .adminDevicesRevoke,
        ] {
            addOperatorEndpoint(order, .post, handler: steps.around(operators.execute))
        }
        let token = OperatorTokenEndpoint(tokens: endpoints.operatorTokens)
        addPage(.adminToken, at: ["/admin/1/token"], handler: [endpoints.operatorHosts].around(token.show))
        let schemaSteps: [any RequestMiddleware] = [
            endpoints.operatorHosts,
            OperatorAdmission(
                tokens: endpoints.operatorTokens, reader: endpoints.bodyReader,
                bodyBytesMax: SchemaEndpoints.bodyBytesMax, isForProduction: true),
        ]
        let schemas = SchemaEndpoints(cloud: endpoints.cloud, logger: endpoints.operators.logger)
        addOperatorEndpoint(.adminSchemaExport, .getOrPost, handler: schemaSteps.around(schemas.export))
        addOperatorEndpoint(.adminSchemaImport, .post, handler: schemaSteps.around(schemas.import))
        addOperatorEndpoint(.adminSchemaDiff, .getOrPost, handler: schemaSteps.around(schemas.diff))
        addOperatorEndpoint(.adminSchemaDeploy, .post, handler: schemaSteps.around(schemas.deploy))
        addOperatorEndpoint(.adminSchemaReset, .post, handler: schemaSteps.around(schemas.reset))
        addOperatorEndpoint(.adminSchemaRoles, .post, handler: schemaSteps.around(schemas.setRole))
    }

    private mutating func addPages(_ endpoints: CloudEndpoints) {
        let pages = endpoints.pages
        addPage(.landingPage, at: ["/", ""], handler: pages.landing)
        addPage(.accountPage, at: ["/account"], handler: pages.account)
        addPage(.providerPage, at: [ProviderSignIn.path], handler: pages.provider)
        addPage(.signInPage, at: ["/sign-in"], handler: pages.signIn)
        addPage(.signUpPage, at: ["/sign-up"], handler: pages.signUp)
        addPage(.addressPage, at: ["/address"], handler: pages.address)
        addPage(.invitationPage, at: ["/invitation"], handler: pages.invitation)
        addPage(.notificationsPage, at: ["/notifications"], handler: pages.notifications)
        addPage(.signInScript, at: ["/sign-in.js"]) { _ in Pages.signInScript() }
        addPage(.shareScript, at: ["/share.js"]) { _ in Pages.shareScript() }
        addPage(.notificationsScript, at: ["/notifications.js"]) { _ in Pages.notificationsScript() }
        addPage(.notificationsWorker, at: ["/notifications-worker.js"]) { _ in Pages.notificationsWorker() }
        addPage(.styleSheet, at: ["/style.css"]) { _ in Pages.styleSheet() }
        addPage(.health, at: ["/health"], handler: endpoints.health.check)
        addPage(.openAPI, at: ["/openapi.json"], handler: OpenAPIEndpoint(isStrict: endpoints.isStrict).show)
        let directory = DirectoryEndpoints(store: endpoints.cloud.accountStore, limits: .web)
        addPage(.directoryHistory, at: ["/directory/history"], handler: directory.history)
        let metricsSteps: [any RequestMiddleware] = [
            endpoints.operatorHosts, MetricsAdmission(tokens: endpoints.operatorTokens),
        ]
        let exposition = MetricsEndpoint(metrics: endpoints.metrics)
        addPage(.metrics, at: ["/metrics"], handler: metricsSteps.around(exposition.show))
    }

    private mutating func addPrefixes(_ endpoints: CloudEndpoints) {
        let shares = SharePageEndpoint(
            cloud: endpoints.cloud,
            pageTokens: endpoints.isStrict ? nil : PageTokens(endpoints.cloud.serverEnvironment))
        addPrefix(
            .sharePage, at: "/share/", parameter: { SharePageEndpoint.isLinkName($0) ? $0 : nil },
            handler: shares.show)
        addPrefix(
            .libraryScript, at: ScriptLibrary.pathPrefix, parameter: { $0 },
            handler: ScriptLibrary.shared.script)
        addPrefix(
            .courier, at: CourierEndpoint.pathPrefix, parameter: { $0 }, handler: endpoints.courier.poll)
        addPrefix(
            .assetUpload, at: AssetURL.uploadPrefix, methods: .upload,
            parameter: { $0.utf8.contains(UInt8(ascii: "/")) ? nil : $0 }, handler: endpoints.uploads.upload)
        // A download's token is followed by a file name of the client's choice, or by `${f}`, percent-encoded or not
        // (docs/web-services.md §7).
        addPrefix(
            .assetDownload, at: AssetURL.downloadPrefix,
            parameter: { Substring($0.utf8.prefix { $0 != UInt8(ascii: "/") }) },
            handler: endpoints.downloads.download)
    }
}
