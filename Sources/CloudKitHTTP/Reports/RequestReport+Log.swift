import CloudKitLogs
import CloudKitModel

extension LogEntry {
    /// Creates the entry of a request that was responded to; its time and its bytes are still to come.
    ///
    /// - Parameter retryAfter: Seconds that the answer asks the client to wait.
    init(_ request: IncomingRequest, _ report: RequestReport, retryAfter: Int) {
        let subject = request.subject
        self.init(id: request.id, kind: Kind(request, subject), operation: report.endpoint.rawValue)
        if let place = report.place {
            container = place.container.name
            environment = place.environment.rawValue
        }
        database = report.scope?.word
        user = request.admission?.user?.recordName ?? subject.user
        device = request.admission?.deviceID
        zone = subject.zone.map { LogWord.cleaned($0) }
        recordType = subject.recordType.map { LogWord.cleaned($0) }
        client = report.client
        operationID = report.labels.operation.flatMap { LogID($0) }
        group = report.labels.group.flatMap { LogID($0) }
        groupName = report.labels.groupName
        status = report.status
        code = report.code ?? subject.failures.first?.code
        bytesIn = report.bytesIn
        itemsIn = report.itemsIn
        itemsOut = report.itemsOut
        itemsFailed = report.itemsFailed
        self.retryAfter = retryAfter
        var attributes = subject.attributes
        if case .operator(let token) = request.sender { attributes["operator"] = token.id }
        if !subject.failures.isEmpty || !attributes.isEmpty {
            details = LogDetails(failures: subject.failures, attributes: attributes)
        }
    }
}

extension LogEntry.Kind {
    fileprivate init(_ request: IncomingRequest, _ subject: RequestSubject) {
        if subject.isFault {
            self = .fault
            return
        }
        switch request.endpoint?.name {
        case .sessionsPrepare, .sessionsCreate, .sessionsDelete, .accountsCreate, .accountsPassword, .accountsDiscovery,
            .keychainGet, .keychainCreate, .keychainRewrap, .keychainReset, .keychainRecovery, .keychainRecover,
            .devicesList, .devicesRevoke, .devicesRename:
            self = .signIn
        case let name?: self = name.rawValue.hasPrefix("admin/") ? .operatorAction : .request
        case nil: self = .request
        }
    }
}
