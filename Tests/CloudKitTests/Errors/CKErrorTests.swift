import CloudKitModel
import Testing

@testable import CloudKit
@testable import CloudKitClient

@Suite(.timeLimit(.minutes(20))) struct CKErrorTests {
    private func throwing(_ error: any Error) throws { throw error }

    @Test func `a thrown CKError is caught in every spelling`() {
        do {
            try throwing(CKError(.serverRecordChanged))
        } catch CKError.serverRecordChanged {
        } catch {
            Issue.record("not caught by its code")
        }
        do {
            try throwing(CKError(.zoneBusy, userInfo: [CKErrorRetryAfterKey: 3.5]))
        } catch let error as CKError where error.code == .zoneBusy {
            #expect(error.retryAfterSeconds == 3.5)
        } catch {
            Issue.record("not caught by its type")
        }
    }

    @Test func `an NSError of the domain is a CKError and others are not`() {
        let error: any Error = NSError(domain: CKErrorDomain, code: 14, userInfo: [NSLocalizedDescriptionKey: "text"])
        #expect((error as? CKError)?.code == .serverRecordChanged)
        #expect(error is CKError)
        #expect((error as? CKError)?.localizedDescription == "text")
        #expect(!((NSError(domain: "other", code: 14) as any Error) is CKError))
        #expect((CKError(.internalError) as NSError).domain == "CKErrorDomain")
        #expect((CKError(.internalError) as NSError).code == 1)
        #expect(CKError.errorDomain == CKErrorDomain)
        #expect(CKError(.partialFailure).errorCode == 2)
    }

    @Test func `T4 errors hash without end of the stack`() {
        let error = CKError(.zoneNotFound, userInfo: ["a": 1])
        #expect(error.hashValue == CKError(.zoneNotFound).hashValue)
        #expect(Set([error, error]).count == 1)
        var table: [AnyHashable: Int] = [:]
        table[error] = 1
        #expect(table[error] == 1)
        #expect(error == error)
        #expect(error != CKError(.zoneBusy))
    }

    @Test func `an unknown code does not end the process`() {
        let error: any Error = NSError(domain: CKErrorDomain, code: 999_999)
        #expect((error as? CKError)?.code == .internalError)
        #expect((error as? CKError)?.errorCode == 999_999)
        do {
            try throwing(error)
        } catch CKError.zoneNotFound, CKError.unknownItem {
            Issue.record("caught as another error")
        } catch {
            #expect("\(error as? CKError ?? CKError(.zoneBusy))".contains("\"Unknown Error\" (999999)"))
        }
    }

    @Test func `B-ERR-21 logs show code, texts, pause and the errors of single items`() {
        let zoneID = CKRecordZone.ID(zoneName: "Notes")
        let id = CKRecord.ID(recordName: "a", zoneID: zoneID)
        let other = CKRecord.ID(recordName: "b", zoneID: zoneID)
        func shown(_ error: any Error) -> String {
            "\(error)".replacing(#/ 0x[0-9a-f]+/#, with: "")
        }
        #expect(shown(CKError(.assetFileNotFound)) == "<CKError: \"Asset File Not Found\" (16)>")
        let conflict = CKError(RequestFailure(.conflict, "client oplock error updating record", retryAfter: 2))
        #expect(
            shown(conflict)
                == "<CKError: \"Server Record Changed\" (14/2004); server message = \"client oplock error updating record\"; "
                + "Retry after 2.0 seconds>")
        #expect(
            shown(CKError.partialFailure([id: CKError(.limitExceeded), other: CKError(.batchRequestFailed)])) == """
                <CKError: "Partial Failure" (2/1011); "Failed to modify some records"; partial errors: {
                \ta:(Notes:__defaultOwner__) = <CKError: "Limit Exceeded" (27)>
                \t... 1 "Batch Request Failed" CKErrors omitted ...
                }>
                """)
        #expect(
            shown(CKError.partialFailure([zoneID: CKError(.zoneNotFound)], operation: "fetch some record zones"))
                .contains(
                    "\tNotes:__defaultOwner__ = <CKError: \"Zone Not Found\" (26)>"))
    }

    @Test func `there are 37 codes`() {
        #expect((1...37).allSatisfy { CKError.Code(rawValue: $0) != nil })
        #expect(CKError.Code(rawValue: 0) == nil)
        #expect(CKError.Code(rawValue: 38) == nil)
        #expect(CKError.Code.participantAlreadyInvited.rawValue == 37)
        #expect(CKError.limitExceeded.rawValue == 27)
    }

    @Test func `keys have Apple's values`() {
        #expect(CKPartialErrorsByItemIDKey == "CKPartialErrors")
        #expect(CKErrorRetryAfterKey == "CKRetryAfter")
        #expect(CKErrorUserDidResetEncryptedDataKey == "CKUserDidResetEncryptedData")
        #expect(CKRecordChangedErrorAncestorRecordKey == "AncestorRecord")
        #expect(CKRecordChangedErrorServerRecordKey == "ServerRecord")
        #expect(CKRecordChangedErrorClientRecordKey == "ClientRecord")
    }

    @Test func `every refusal of the server is one of the codes`() {
        for code in RequestFailure.Code.allCases {
            let error = CKError(RequestFailure(code, "reason", retryAfter: 2))
            #expect(error.code.rawValue == code.native.code)
            #expect(error.subcode == code.native.subcode)
            #expect(error.retryAfterSeconds == 2)
            #expect(error.localizedDescription == "reason")
        }
    }

    @Test func `B-ERR-21 descriptions name the operation`() throws {
        let record = CKRecord(recordType: "T", recordID: CKRecord.ID(recordName: "r"))
        let error = CKError(
            RequestFailure(.quotaExceeded, "Quota exceeded", remedy: "Delete something."), saving: record)
        #expect(error.localizedDescription.hasPrefix("Error saving record <CKRecordID: 0x"))
        #expect(
            error.localizedDescription.hasSuffix(
                "; recordName=r, zoneID=_defaultZone:__defaultOwner__> to server: Quota exceeded"))
        #expect(error.userInfo["ServerErrorDescription"] as? String == "Quota exceeded")
        #expect(error.userInfo["CKErrorDescription"] as? String == error.localizedDescription)
        #expect((error as NSError).localizedRecoverySuggestion == "Delete something.")
        #expect(error.clientRecord == nil)
    }

    @Test func `B-ERR-21 an error shows the identifier of its request`() throws {
        var failure = RequestFailure(.quotaExceeded, "Quota exceeded")
        failure.requestID = "0198f3a2-1111-7222-8333-444455556666"
        let error = CKError(failure)
        #expect(error.userInfo["RequestUUID"] as? String == failure.requestID)
        #expect(error.description.contains("; uuid = 0198f3a2-1111-7222-8333-444455556666"))
        // The same refusal of another request is the same.
        #expect(failure == RequestFailure(.quotaExceeded, "Quota exceeded"))
        #expect(!CKError(RequestFailure(.quotaExceeded, "Quota exceeded")).description.contains("uuid"))
    }

    @Test func `B-ERR-21 the underlying error has the server's sub-code and text, too`() throws {
        let error = CKError(
            RequestFailure(.itemNotFound, "Record not found"), operation: .fetchingRecord(.init(recordName: "r")))
        #expect(error.userInfo[NSDebugDescriptionErrorKey] as? String == "CKInternalErrorDomain: 2003")
        let underlying = try #require(error.userInfo[NSUnderlyingErrorKey] as? NSError)
        #expect(underlying.domain == "CKInternalErrorDomain")
        #expect(underlying.code == 2003)
        #expect(underlying.userInfo["ServerErrorDescription"] as? String == "Record not found")
        #expect(CKError(.networkFailure).userInfo[NSDebugDescriptionErrorKey] == nil)
    }

    @Test func `B-SAV-07 a conflict carries client, server and ancestor record`() throws {
        let record = try CKRecord(Fixture.record(fields: [("a", .string("old"))], tag: "t1"))
        record["a"] = "mine"
        let server = try Fixture.record(fields: [("a", .string("theirs"))], tag: "t2")
        let error = CKError(
            RequestFailure(.conflict, "client oplock error updating record", serverRecord: server), saving: record,
            server: OpenedRecord(server))
        #expect(error.code == .serverRecordChanged)
        #expect(error.subcode == 2004)
        #expect(error.clientRecord?["a"] as? String == "mine")
        #expect(error.clientRecord?.recordChangeTag == "t1")
        #expect(error.clientRecord?.changedKeys() == ["a"])
        #expect(error.serverRecord?["a"] as? String == "theirs")
        #expect(error.serverRecord?.recordChangeTag == "t2")
        #expect(error.ancestorRecord?["a"] as? String == "old")
        #expect(error.ancestorRecord?.recordChangeTag == "t1")
        record["a"] = "later"
        #expect(error.clientRecord?["a"] as? String == "mine")
    }

    @Test func `B-ERR-14 a busy zone is error 23, with the pause that the server asks for`() {
        let busy = CKError(RequestFailure(.zoneBusy, "busy", retryAfter: 3))
        #expect(busy.code == .zoneBusy && busy.errorCode == 23 && CKError.Code(rawValue: 23) == .zoneBusy)
        #expect(busy.retryAfterSeconds == 3)
        #expect(CKError(RequestFailure(.zoneBusy, "busy")).code == .zoneBusy)
    }

    @Test func `B-ERR-11 a failing server rejects the request`() {
        let broken = CKError(RequestFailure(.internalError, "Internal server error"))
        #expect(broken.code == .serverRejectedRequest && broken.subcode == 2000 && broken.retryAfterSeconds == nil)
    }

    @Test func `B-ZN-12 a reset of keys is reported by its key in userInfo`() {
        let error = CKError(RequestFailure(.zoneKeysReset, "keys were reset"))
        #expect(error.code == .zoneNotFound)
        #expect((error.userInfo[CKErrorUserDidResetEncryptedDataKey] as? NSNumber)?.boolValue == true)
        #expect(CKError(RequestFailure(.zoneNotFound, "no")).userInfo[CKErrorUserDidResetEncryptedDataKey] == nil)
    }

    @Test func `B-BAT-03 a partial failure maps items to errors`() throws {
        let id = CKRecord.ID(recordName: "r")
        let error = CKError.partialFailure([id: CKError(.batchRequestFailed)])
        #expect(error.code == .partialFailure)
        #expect(error.subcode == 1011)
        #expect(error.localizedDescription == "Failed to modify some records")
        let item = error.partialErrorsByItemID?[CKRecord.ID(recordName: "r")] as? CKError
        #expect(item?.code == .batchRequestFailed)
        let foreign = CKError(
            .partialFailure,
            userInfo: [CKPartialErrorsByItemIDKey: [id: NSError(domain: CKErrorDomain, code: 11)] as NSDictionary])
        #expect((foreign.partialErrorsByItemID?[id] as? CKError)?.code == .unknownItem)
    }
}
