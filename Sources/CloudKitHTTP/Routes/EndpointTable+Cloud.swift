import CloudKitServer
import Logging

/// The handlers of a cloud's endpoints.
struct CloudEndpoints: Sendable {
    var cloud: Cloud
    var authenticator: Authenticator
    var devices: DeviceEndpoints
    var uploads: AssetUploadEndpoint
    var downloads: AssetDownloadEndpoint
    var pushTokens: PushTokenEndpoints
    var courier: CourierEndpoint
    var operators: OperatorEndpoints
    var operatorTokens: OperatorTokens
    var pages: PageEndpoints
    var health: HealthCheck
    var metrics: RequestMetrics
}

extension EndpointTable {
    /// Every endpoint of a cloud.
    init(_ endpoints: CloudEndpoints) {
        self.init()
        addDatabaseEndpoints(endpoints)
        addDeviceEndpoints(endpoints)
        addOperatorEndpoints(endpoints)
        addPages(endpoints)
        addPrefixes(endpoints)
    }

    private mutating func addDatabaseEndpoints(_ endpoints: CloudEndpoints) {
        let steps: [any RequestMiddleware] = [
            UserAdmission(authenticator: endpoints.authenticator), TokenRotation(), ServerKeyLimit(),
            InjectedFaults(faults: endpoints.cloud.faults),
        ]
        func add(
            _ name: EndpointName, _ methods: AllowedMethods,
            _ handler: @escaping @Sendable (DatabaseCall) async throws -> EndpointResponse
        ) {
            addDatabaseEndpoint(
                name, methods, handler: steps.around { try await handler(try DatabaseCall($0)) })
        }
        let databases = DatabaseEndpoints(cloud: endpoints.cloud)
        add(.recordsModify, .post, databases.modifyRecords)
        add(.recordsLookup, .post, databases.lookupRecords)
        add(.recordsQuery, .post, databases.queryRecords)
        add(.recordsChanges, .post, databases.recordChanges)
        add(.zonesList, .getOrPost, databases.listZones)
        add(.zonesLookup, .post, databases.lookupZones)
        add(.zonesModify, .post, databases.modifyZones)
        add(.zonesChanges, .post, databases.zoneListChanges)
        add(.changesZone, .post, databases.zoneChanges)
        add(.changesDatabase, .post, databases.databaseChanges)
        add(.assetsUpload, .post, databases.uploadAssets)
        add(.assetsRereference, .post, databases.rereferenceAssets)
        add(.recordsResolve, .post, databases.resolveShares)
        add(.recordsAccept, .post, databases.acceptShares)
        add(.sharesRequestAccess, .post, databases.requestAccess)
        add(.sharesKeysLookup, .post, databases.lookupShareKeys)
        add(.sharesKeysStore, .post, databases.storeShareKeys)
        add(.subscriptionsList, .getOrPost, databases.listSubscriptions)
        add(.subscriptionsLookup, .post, databases.lookupSubscriptions)
        add(.subscriptionsModify, .post, databases.modifySubscriptions)
        add(.usersLookupParticipants, .post, databases.lookupParticipants)
        let users = UserEndpoints()
        add(.usersCaller, .getOrPost, users.caller)
        add(.usersCurrent, .getOrPost, users.current)
        add(.usersDiscover, .getOrPost, users.discover)
        add(.usersLookupEmail, .post, users.discover)
        add(.usersLookupID, .post, users.discover)
        add(.usersLookupContacts, .getOrPost, users.discover)
    }

    private mutating func addDeviceEndpoints(_ endpoints: CloudEndpoints) {
        let faults = InjectedFaults(faults: endpoints.cloud.faults)
        let appSteps: [any RequestMiddleware] = [
            AppAdmission(authenticator: endpoints.authenticator), TokenRotation(),
        ]
        func add(
            _ name: EndpointName, steps: [any RequestMiddleware],
            _ handler: @escaping @Sendable (DeviceCall) async throws -> EndpointResponse
        ) {
            addDeviceEndpoint(name, .post, handler: steps.around { try await handler(try DeviceCall($0)) })
        }
        let devices = endpoints.devices
        // Faults are for what apps do, not for signing in and managing an account.
        add(.sessionsPrepare, steps: appSteps, devices.sessions.prepare)
        add(.sessionsCreate, steps: appSteps, devices.sessions.create)
        add(.sessionsDelete, steps: appSteps, devices.sessions.delete)
        add(.accountsCreate, steps: appSteps, devices.accounts.create)
        add(.accountsPassword, steps: appSteps, devices.accounts.changePassword)
        add(.keychainGet, steps: appSteps, devices.keychains.get)
        add(.keychainCreate, steps: appSteps, devices.keychains.create)
        add(.keychainRewrap, steps: appSteps, devices.keychains.rewrap)
        add(.keychainReset, steps: appSteps, devices.keychains.reset)
        add(.keychainRecovery, steps: appSteps, devices.keychains.recovery)
        add(.keychainRecover, steps: appSteps, devices.keychains.recover)
        add(.devicesList, steps: appSteps, devices.list)
        add(.devicesRevoke, steps: appSteps, devices.revoke)
        add(.devicesRename, steps: appSteps, devices.rename)
        add(.identitiesLookup, steps: appSteps + [faults], devices.lookupIdentities)
        let userSteps: [any RequestMiddleware] = [
            UserAdmission(authenticator: endpoints.authenticator), TokenRotation(), faults,
        ]
        let tokens = endpoints.pushTokens
        addDeviceEndpoint(.tokensCreate, .post, handler: userSteps.around(tokens.create))
        addDeviceEndpoint(.tokensRegister, .post, handler: userSteps.around(tokens.register))
        addDeviceEndpoint(.tokensDelete, .post, handler: userSteps.around(tokens.delete))
        addDeviceEndpoint(.tokensServices, .getOrPost, handler: userSteps.around(tokens.listServices))
    }

    private mutating func addOperatorEndpoints(_ endpoints: CloudEndpoints) {
        let steps: [any RequestMiddleware] = [OperatorAdmission(tokens: endpoints.operatorTokens)]
        let operators = endpoints.operators
        addOperatorEndpoint(.adminFaultsList, .getOrPost, handler: steps.around(operators.listFaults))
        addOperatorEndpoint(.adminDevicesList, .post, handler: steps.around(operators.listDevices))
        for order: EndpointName in [
            .adminFaultsOrder, .adminFaultsRemove, .adminTokensExpire, .adminZonesCompact, .adminZonesPurge,
            .adminKeysReset, .adminDevicesRevoke,
        ] {
            addOperatorEndpoint(order, .post, handler: steps.around(operators.carryOut))
        }
    }

    private mutating func addPages(_ endpoints: CloudEndpoints) {
        let pages = endpoints.pages
        addPage(.landingPage, at: ["/", ""], handler: pages.landing)
        addPage(.signInPage, at: ["/sign-in"], handler: pages.signIn)
        addPage(.signUpPage, at: ["/sign-up"], handler: pages.signUp)
        addPage(.notificationsPage, at: ["/notifications"], handler: pages.notifications)
        addPage(.signInScript, at: ["/sign-in.js"]) { _ in Pages.script(SignInScript.text) }
        addPage(.shareScript, at: ["/share.js"]) { _ in Pages.script(ShareScript.text) }
        addPage(.notificationsScript, at: ["/notifications.js"]) { _ in Pages.script(NotificationsScript.text) }
        addPage(.notificationsWorker, at: ["/notifications-worker.js"]) { _ in Pages.script(NotificationsWorker.text) }
        addPage(.styleSheet, at: ["/style.css"]) { _ in Pages.styleSheet() }
        addPage(.health, at: ["/health"], handler: endpoints.health.check)
        let metricsSteps: [any RequestMiddleware] = [MetricsAdmission(tokens: endpoints.operatorTokens)]
        let exposition = MetricsEndpoint(metrics: endpoints.metrics, cloud: endpoints.cloud)
        addPage(.metrics, at: ["/metrics"], handler: metricsSteps.around(exposition.show))
    }

    private mutating func addPrefixes(_ endpoints: CloudEndpoints) {
        let shares = SharePageEndpoint(cloud: endpoints.cloud)
        addPrefix(
            .sharePage, at: "/share/", parameter: { SharePageEndpoint.isLinkName($0) ? $0 : nil },
            handler: shares.show)
        addPrefix(
            .courier, at: CourierEndpoint.pathPrefix, parameter: { $0 }, handler: endpoints.courier.poll)
        addPrefix(
            .assetUpload, at: AssetURL.uploadPrefix, methods: .upload, readsBody: true,
            parameter: { $0.utf8.contains(UInt8(ascii: "/")) ? nil : $0 }, handler: endpoints.uploads.upload)
        // After a download's token comes a file name of the client's choice, or the four characters that stand for one,
        // percent-encoded or not (web-services.md §7).
        addPrefix(
            .assetDownload, at: AssetURL.downloadPrefix, readsBody: true,
            parameter: { Substring($0.utf8.prefix { $0 != UInt8(ascii: "/") }) },
            handler: endpoints.downloads.download)
    }
}
