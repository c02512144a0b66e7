import CloudKit
import Testing

/// Archives in the form of Apple's framework: its class names and keys, made by hand for these tests.
@Suite(.timeLimit(.minutes(20))) struct AppleArchiveTests {
    @Test func `system fields that Apple's framework archived are read`() throws {
        let data = try #require(Data(base64Encoded: Self.systemFields))
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: data)
        unarchiver.requiresSecureCoding = true
        let record = try #require(CKRecord(coder: unarchiver))
        let zone = CKRecordZone.ID(zoneName: "Notes")
        #expect(record.recordType == "Note")
        #expect(record.recordID == CKRecord.ID(recordName: "note-1", zoneID: zone))
        #expect(record.recordChangeTag == "k3x")
        #expect(record.creationDate == Date(timeIntervalSinceReferenceDate: 600_000_000.5))
        #expect(record.modificationDate == Date(timeIntervalSinceReferenceDate: 600_000_001.5))
        #expect(record.creatorUserRecordID?.recordName == CKCurrentUserDefaultName)
        #expect(record.lastModifiedUserRecordID?.recordName == "_abc")
        #expect(record.parent?.recordID == CKRecord.ID(recordName: "folder-1", zoneID: zone))
        #expect(record.share == nil)
        #expect(record.changedKeys().isEmpty)
    }

    @Test func `a whole record that Apple's framework archived is read`() throws {
        let data = try #require(Data(base64Encoded: Self.record))
        let record = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data))
        #expect(record.recordID.recordName == "note-1")
        #expect(record["title"] as? String == "Hello")
        #expect(record["count"] as? Int == 3)
        #expect(record["ratio"] as? Double == 0.5)
        #expect(record["when"] as? Date == Date(timeIntervalSinceReferenceDate: 5))
        #expect(record["bytes"] as? Data == Data([1, 2]))
        #expect(record["tags"] as? [String] == ["a", "b"])
        #expect((record["owner"] as? CKRecord.Reference)?.action == .deleteSelf)
        #expect(record.changedKeys() == ["title"])
    }

    @Test func `IDs and tokens that Apple's framework archived are read`() throws {
        let idData = try #require(Data(base64Encoded: Self.recordID))
        let id = try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.ID.self, from: idData)
        #expect(id == CKRecord.ID(recordName: "r", zoneID: CKRecordZone.ID(zoneName: "Z", ownerName: "_owner")))
        let tokenData = try #require(Data(base64Encoded: Self.token))
        let token = try NSKeyedUnarchiver.unarchivedObject(ofClass: CKServerChangeToken.self, from: tokenData)
        #expect(token != nil)
    }

    private static let systemFields = """
        YnBsaXN0MDDUAQIDBAUGS2FZJGFyY2hpdmVyWCRvYmplY3RzVCR0b3BYJHZlcnNpb25fEA9OU0tleWVkQXJjaGl2ZXKvEBsHCAkKFRscHSMm\
        JysuMAkxCTUwCTg8PUBBQ0hVJG51bGxVTm90ZXNfEBBfX2RlZmF1bHRPd25lcl9f1QsMDQ4PEBESExRWJGNsYXNzWFpvbmVOYW1lXxARYW5v\
        bnltb3VzQ0tVc2VySURfEBBkYXRhYmFzZVNjb3BlS2V5WW93bmVyTmFtZYAEgAGAABAAgALSFhcYGVgkY2xhc3Nlc1okY2xhc3NuYW1lohka\
        XkNLUmVjb3JkWm9uZUlEWE5TT2JqZWN0VE5vdGVWbm90ZS0x0wseHyAhIlpSZWNvcmROYW1lVlpvbmVJRIAIgAaAA9IWFyQloiUaWkNLUmVj\
        b3JkSURTazN40gsoKSpXTlMudGltZYALI0HB4aMAQAAA0hYXLC2iLRpWTlNEYXRl0gsoKS8jQcHhowDAAABcX2RlZmF1bHRab25l1QsMDQ4P\
        EDIzEzSADYAAgA7TCx4fIDY3gBCAD9ULDA0ODxA5OhM7gBKAAIATVF9hYmPTCx4fID4/gBWAFFhmb2xkZXItMdMLHh8gQiKAF9MLREVGRxNY\
        UmVjb3JkSURfEA9SZWZlcmVuY2VBY3Rpb26AGoAY0hYXSUqiShpbQ0tSZWZlcmVuY2XbTE1OT1BRRFJTVFVWV1hZWltcXV5fYF8QE0NyZWF0\
        b3JVc2VyUmVjb3JkSURURVRhZ11Lbm93blRvU2VydmVyXxAYTGFzdE1vZGlmaWVkVXNlclJlY29yZElEXxAPUGFyZW50UmVmZXJlbmNlW1Jl\
        Y29yZEN0aW1lW1JlY29yZE10aW1lWlJlY29yZFR5cGVeU2hhcmVSZWZlcmVuY2VZV2FzQ2FjaGVkgBGACQmAFoAZgAqAB4AMgAWAAAgSAAGG\
        oAAIABEAGwAkACkAMgBEAGIAaABuAIEAjACTAJwAsADDAM0AzwDRANMA1QDXANwA5QDwAPMBAgELARABFwEeASkBMAEyATQBNgE7AT4BSQFN\
        AVIBWgFcAWUBagFtAXQBeQGCAY8BmgGcAZ4BoAGnAakBqwG2AbgBugG8AcEByAHKAcwB1QHcAd4B5QHuAgACAgIEAgkCDAIYAi8CRQJKAlgC\
        cwKFApECnQKoArcCwQLDAsUCxgLIAsoCzALOAtAC0gLUAtUAAAAAAAACAQAAAAAAAABiAAAAAAAAAAAAAAAAAAAC2g==
        """

    private static let record = """
        YnBsaXN0MDDUAQIDBAUGjI9ZJGFyY2hpdmVyWCRvYmplY3RzVCR0b3BYJHZlcnNpb25fEA9OU0tleWVkQXJjaGl2ZXKvECsHCAkKFRscHSMm\
        JygpKi4xMjM0Oj0+QEZJSktMTU5PUGNmSWdJbHBze36JVSRudWxsVU5vdGVzXxAQX19kZWZhdWx0T3duZXJfX9ULDA0ODxAREhMUViRjbGFz\
        c1hab25lTmFtZV8QEWFub255bW91c0NLVXNlcklEXxAQZGF0YWJhc2VTY29wZUtleVlvd25lck5hbWWABIABgAAQAIAC0hYXGBlYJGNsYXNz\
        ZXNaJGNsYXNzbmFtZaIZGl5DS1JlY29yZFpvbmVJRFhOU09iamVjdFROb3RlVm5vdGUtMdMLHh8gISJaUmVjb3JkTmFtZVZab25lSUSACIAG\
        gAPSFhckJaIlGlpDS1JlY29yZElEU2szeFVIZWxsbxADIz/gAAAAAAAA0gsrLC1XTlMudGltZYAOI0AUAAAAAAAA0hYXLzCiMBpWTlNEYXRl\
        QgECUWFRYtILNTY3Wk5TLm9iamVjdHOAE6I4OYAQgBHSFhc7PKI8GldOU0FycmF5UXDTCx4fID8igBTTC0FCQ0RFWFJlY29yZElEXxAPUmVm\
        ZXJlbmNlQWN0aW9ugBeAFRAB0hYXR0iiSBpbQ0tSZWZlcmVuY2VVdGl0bGVVY291bnRVcmF0aW9Ud2hlblVieXRlc1R0YWdzVW93bmVy0wtR\
        NVJTW1dOUy5rZXlzgCCnVFVWV1hZWoAYgBmAGoAbgByAHYAep1xdXl9gYWKACoALgAyADYAPgBKAFtIWF2RlomUaXE5TRGljdGlvbmFyeVNP\
        bGTTC1E1UmhqoWmAIqFrgCHSCzVtboAmoW+AJNIWF3FyonIaVU5TU2V01At0dXZ3eHl6W0NoYW5nZWRLZXlzXk9yaWdpbmFsVmFsdWVzXFJl\
        Y29yZFZhbHVlc4AogCWAI4Af0hYXfH2ifRpfEBJDS1JlY29yZFZhbHVlU3RvcmXWC3+AQYGCg4SFhoeIVEVUYWddS25vd25Ub1NlcnZlclpS\
        ZWNvcmRUeXBlWlZhbHVlU3RvcmWAKoAJCYAHgAWAJ9IWF4qLoosaWENLUmVjb3Jk0Y2OVHJvb3SAKRIAAYagAAgAEQAbACQAKQAyAEQAcgB4\
        AH4AkQCcAKMArADAANMA3QDfAOEA4wDlAOcA7AD1AQABAwESARsBIAEnAS4BOQFAAUIBRAFGAUsBTgFZAV0BYwFlAW4BcwF7AX0BhgGLAY4B\
        lQGYAZoBnAGhAawBrgGxAbMBtQG6Ab0BxQHHAc4B0AHXAeAB8gH0AfYB+AH9AgACDAISAhgCHgIjAikCLgI0AjsCQwJFAk0CTwJRAlMCVQJX\
        AlkCWwJjAmUCZwJpAmsCbQJvAnECdgJ5AoYCigKRApMClQKXApkCngKgAqICpAKpAqwCsgK7AscC1gLjAuUC5wLpAusC8ALzAwgDFQMaAygD\
        MwM+A0ADQgNDA0UDRwNJA04DUQNaA10DYgNkAAAAAAAAAgEAAAAAAAAAkAAAAAAAAAAAAAAAAAAAA2k=
        """

    private static let recordID = """
        YnBsaXN0MDDUAQIDBAUGJShZJGFyY2hpdmVyWCRvYmplY3RzVCR0b3BYJHZlcnNpb25fEA9OU0tleWVkQXJjaGl2ZXKoBwgJChUbHCJVJG51\
        bGxRWlZfb3duZXLVCwwNDg8QERITFFYkY2xhc3NYWm9uZU5hbWVfEBFhbm9ueW1vdXNDS1VzZXJJRF8QEGRhdGFiYXNlU2NvcGVLZXlZb3du\
        ZXJOYW1lgASAAYAAEACAAtIWFxgZWCRjbGFzc2VzWiRjbGFzc25hbWWiGRpeQ0tSZWNvcmRab25lSURYTlNPYmplY3RRctMLHR4fICFaUmVj\
        b3JkTmFtZVZab25lSUSAB4AFgAPSFhcjJKIkGlpDS1JlY29yZElE0SYnVHJvb3SABhIAAYagAAgAEQAbACQAKQAyAEQATQBTAFUAXABnAG4A\
        dwCLAJ4AqACqAKwArgCwALIAtwDAAMsAzgDdAOYA6ADvAPoBAQEDAQUBBwEMAQ8BGgEdASIBJAAAAAAAAAIBAAAAAAAAACkAAAAAAAAAAAAA\
        AAAAAAEp
        """

    private static let token = """
        YnBsaXN0MDDUAQIDBAUGFBdZJGFyY2hpdmVyWCRvYmplY3RzVCR0b3BYJHZlcnNpb25fEA9OU0tleWVkQXJjaGl2ZXKkBwgJDlUkbnVsbEMB\
        AgPSCgsMDVYkY2xhc3NfEA9DaGFuZ2VUb2tlbkRhdGGAA4AB0g8QERJYJGNsYXNzZXNaJGNsYXNzbmFtZaISE18QE0NLU2VydmVyQ2hhbmdl\
        VG9rZW5YTlNPYmplY3TRFRZUcm9vdIACEgABhqAIERskKTJESU9TWF9xc3V6g46Rp7CzuLoAAAAAAAABAQAAAAAAAAAYAAAAAAAAAAAAAAAA\
        AAAAvw==
        """
}
